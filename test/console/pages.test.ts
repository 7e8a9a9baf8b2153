import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, before, it } from "node:test";
import { promisify } from "node:util";

import type { Browser } from "playwright-core";

import { EXAMPLES } from "../../console/src/examples.ts";
import { CONTEXT, MODULES } from "../../console/src/parts/complete-names.ts";
import { shownResult } from "../../console/src/shown-result.ts";
import { NO_WALL, type Service, startService } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { openBrowser, openConsole, openPage, openPlace, type Tab, writeCode } from "./console-browser.ts";

let service: Service;
let browser: Browser;
let tab: Tab;

before(async () => {
  [service, browser] = await Promise.all([startService(NO_WALL), openBrowser()]);
  tab = await openConsole(browser, service.url, service.admin);
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

it("the playground copies the same run for a shell, the command line, the client and MCP, without the token", async () => {
  const { page, context } = tab;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await openPage(page, "Playground");
  await page.getByLabel("Query").fill("who=it's you");
  await page.getByText("Copy as").click();
  const copied: Record<string, string> = {};
  for (const name of ["curl", "command line", "client", "MCP"]) {
    await page.getByRole("button", { name, exact: true }).click();
    await page.getByText("Copied").waitFor();
    copied[name] = await page.evaluate<string>("navigator.clipboard.readText()");
    await page.getByText("Copied").waitFor({ state: "detached" });
  }
  assert.ok(!JSON.stringify(copied).includes(service.admin));
  const shell = async (command: string): Promise<string> => {
    const env = { ...process.env, TOKEN: service.admin };
    return (await promisify(execFile)("sh", ["-c", command], { env })).stdout;
  };
  const answered = await shell(copied["curl"]!);
  const { result } = JSON.parse(answered) as { result: unknown };
  assert.deepEqual(result, { total: 42 }, answered);
  const printed = await shell(copied["command line"]!.replace("caisson run", "scripts/node dist/main.js run"));
  assert.deepEqual(JSON.parse(printed), { total: 42 });
  assert.match(copied["client"]!, /new Caisson\(/);
  assert.ok(copied["MCP"]!.includes(`${service.url}/mcp/demo`));
});

it("a policy is changed on the page of its container, and nothing is suspended before the reader confirms it", async () => {
  const { page } = tab;
  await service.request("PATCH", "/api/containers/acme", { json: { labels: { plan: "free", team: "web" } } });
  await openPlace(page, "containers/acme", "acme");
  await page.getByLabel("Runs a minute").fill("60");
  await page.getByLabel("Labels").fill("plan=pro");
  await page.getByRole("button", { name: "Save policy" }).click();
  await page.getByText("The policy applies").waitFor();
  const read = async (): Promise<{ limits: object; labels: object; suspended: object | null }> =>
    (await service.request("GET", "/api/containers/acme")).json() as never;
  const { limits, labels } = await read();
  assert.deepEqual([limits, labels], [{ minute: 60 }, { plan: "pro" }]);
  await page.getByRole("meter", { name: "minute: 60 of 60 left" }).waitFor();

  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Suspend" }).click();
  await dialog.getByText("Runs in flight end now").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Suspend" }).click();
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal((await read()).suspended, null);
  // The focus is on the button again, so the keyboard goes on from there.
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "Suspend" }).click();
  await page.getByText("every run is refused").waitFor();
  assert.equal((await service.run("acme", "1")).status, 403);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("takes runs again").waitFor();
  assert.equal((await service.run("acme", "1")).status, 200);
});

it("every example of the playground runs, and its form of code gives the result", async () => {
  const results: Record<string, unknown> = {};
  for (const [name, { code, data, query }] of Object.entries(EXAMPLES)) {
    const json = { code, ...(data !== undefined && { data: JSON.parse(data) as unknown }), ...(query && { query }) };
    const answer = await service.request("POST", "/api/runs/examples", { json });
    const record = answer.json() as Record<string, unknown>;
    assert.equal(record["status"], "ok", JSON.stringify(record));
    const { text } = shownResult(record as never);
    results[name] = record["response"] === null ? record["result"] : text;
  }
  const sha256 = createHash("sha256").update("hello").digest("hex");
  assert.deepEqual(results, {
    body: { total: 42 },
    expression: 42,
    function: sha256,
    callback: { hello: "you" },
    node: "Hello from POST",
    fetch: '{\n  "hello": "you"\n}',
    stream: "1\n2\n3\n",
  });
  const { page } = tab;
  await openPage(page, "Playground");
  await page.getByLabel("Example").selectOption({ label: "Fetch handler: Request and Response" });
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("region", { name: "Result" }).getByText('"hello": "you"').waitFor();
});

it("the page of a container shows its limits with who set them, its failures by cause, and its usage", async () => {
  const { page } = tab;
  await service.request("PATCH", "/api/containers/busy", { json: { limits: { minute: 60 } } });
  for (let at = 0; at < 2; at++) await service.run("busy", "throw new RangeError('the same cause')");
  await service.run("busy", "1");
  await openPlace(page, "containers/busy", "busy");
  const limits = page.getByRole("region", { name: "Limits" });
  await limits.getByRole("meter", { name: "minute: 57 of 60 left" }).waitFor();
  await limits
    .getByText(/57 of 60 left, 3 used, one more in \d+ (s|min), set by the policy of the container/)
    .waitFor();
  const failure = page.getByRole("region", { name: "Errors" }).getByRole("row", { name: "RangeError" });
  assert.equal(await failure.getByRole("cell").first().textContent(), "2");
  const usage = page.getByRole("region", { name: "Usage", exact: true });
  await usage.getByText("66.7 %").waitFor();
  await usage.getByRole("img", { name: "Runs and errors of the last 24 hours" }).waitFor();

  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Reset counts" }).click();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  const used = async (): Promise<number> =>
    ((await service.request("GET", "/api/limits/container/busy?detail=true")).json() as { day: { used: number } }).day
      .used;
  assert.equal(await used(), 3);
  await page.getByRole("button", { name: "Reset counts" }).click();
  await dialog.getByText("All counts of busy go to zero").waitFor();
  await dialog.getByRole("button", { name: "Reset" }).click();
  await limits.getByText("The counts were reset").waitFor();
  await limits.getByRole("meter", { name: "minute: 60 of 60 left" }).waitFor();
  assert.equal(await used(), 0);
});

it("the system page shows the checks of the start with remedies, the node, the keys and the settings in force", async () => {
  const { page } = tab;
  await openPage(page, "System");
  const checks = page.getByRole("region", { name: "Checks of the start" });
  await checks.getByText("Remedy: --isolation auto").waitFor();
  await checks.getByRole("button", { name: /All \d+ checks/ }).click();
  await checks.getByText("egress", { exact: true }).waitFor();
  await page.getByRole("region", { name: "Nodes" }).getByText("answers you").waitFor();
  await page.getByRole("region", { name: "Keys" }).getByText("signing").waitFor();
  const settings = page.getByRole("region", { name: "Settings in force" });
  assert.match(await settings.innerText(), /--isolation\s+none\s+flag\s+default: auto/);
  assert.doesNotMatch(await settings.innerText(), /--wall-limit/);
  await settings.getByLabel("Search all settings").fill("wall");
  await settings.getByText("--wall-limit").waitFor();
  await page.getByRole("region", { name: "Audit" }).getByRole("cell", { name: "policy changed" }).first().waitFor();
});

it("the live tail shows lines and ends of runs of all containers, or of one, as they come", async () => {
  const { page } = tab;
  await openPlace(page, "runs", "Runs");
  await page.getByRole("button", { name: "Live tail" }).click();
  await page.getByText("Connected").waitFor();
  const code = "console.log('a line to follow'); throw new Error('an end to follow')";
  for (const container of ["acme", "busy"]) await service.run(container, code);
  const entries = page.getByRole("list", { name: "Live tail" }).getByRole("listitem");
  for (const container of ["acme", "busy"]) {
    await entries.filter({ hasText: "a line to follow" }).getByRole("link", { name: container }).waitFor();
    await entries.filter({ hasText: "an end to follow" }).getByRole("link", { name: container }).waitFor();
  }
  // A reader who types stays in the field, although each change is a new place.
  await page.getByLabel("Container").pressSequentially("acme", { delay: 20 });
  await page.waitForURL(/container=acme/);
  assert.equal(await page.evaluate("document.activeElement.value"), "acme");
  await entries.first().waitFor({ state: "detached" });
  await page.getByText("Connected").waitFor();
  for (const container of ["busy", "acme"]) await service.run(container, code);
  await entries.filter({ hasText: "an end to follow" }).waitFor();
  assert.equal(await entries.count(), 2);
});

it("failures are grouped by task, code and frame, with their count, and lead to the latest run", async () => {
  const { page } = tab;
  await service.request("PUT", "/api/tasks/busy/fails", {
    json: { code: "() => {\n  throw new RangeError('too far');\n}" },
  });
  let run = "";
  for (let at = 0; at < 3; at++) run = (await service.request("POST", "/api/run/busy/fails")).headers["caisson-run"]!;
  await openPlace(page, "errors?container=busy", "Errors");
  const row = page.getByRole("row", { name: "RangeError: too far" });
  const cells = await row.getByRole("cell").allTextContents();
  assert.deepEqual(cells.slice(0, 5), ["3", "task_threw", "RangeError: too far", "task.js:2", "busy"]);
  await row.getByRole("link", { name: /ago|now/ }).click();
  await page.getByRole("heading", { level: 1, name: run }).waitFor();
  await page.getByText("2 |   throw new RangeError('too far');").waitFor();
});

it("the text filter of the runs selects the runs that have the text in the error or the console", async () => {
  const { page } = tab;
  const runs: string[] = [];
  for (const code of ["console.log('a needle')", "throw new Error('another Needle')", "console.log('hay')"]) {
    runs.push((await service.run("haystack", code)).headers["caisson-run"]!);
  }
  await openPlace(page, "runs?container=haystack", "Runs");
  const field = page.getByLabel("Text in error, console");
  const links = page.getByRole("region", { name: "Runs" }).locator("tbody a.mono");
  for (const [text, found] of [
    ["needle", runs.slice(0, 2)],
    ["", runs],
  ] as const) {
    await field.fill(text);
    await page.getByText(`${found.length} runs`, { exact: true }).waitFor();
    assert.deepEqual((await links.allTextContents()).toSorted(), found.toSorted());
  }
  await field.fill("no such text");
  await page.getByText("No run matches").waitFor();
});

it("the page of a run shows its end, although it was opened while the run was in flight", async () => {
  const { page } = tab;
  const stuck = service.request("POST", "/api/runs/busy", {
    body: "await new Promise(() => setInterval(() => {}, 1000))",
  });
  const isListed = async (): Promise<boolean> => {
    const { runs } = (await service.request("GET", "/api/runs?container=busy&status=running")).json() as {
      runs: readonly unknown[];
    };
    return runs.length > 0;
  };
  await until(isListed, "the run is listed");
  await openPlace(page, "runs?container=busy&status=running", "Runs");
  await page.getByRole("button", { name: "Reload" }).click();
  const link = page.getByRole("region", { name: "Runs" }).getByRole("row").nth(1).getByRole("link").first();
  await link.click();
  // The filter of the list has an option with the same text.
  const result = page.getByRole("region", { name: "Result" });
  await result.getByText("running", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog").getByText("Its caller receives an error").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the run" }).click();
  await result.getByText("cancelled", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Cancel" }).waitFor({ state: "detached" });
  assert.equal(((await stuck).json() as { status: string }).status, "cancelled");
});

it("a chart has the colours of the theme, also after the theme has changed", async () => {
  const { page } = tab;
  await service.run("busy", "1");
  await openPlace(page, "usage?container=busy", "Usage");
  const drawn = (): Promise<string> => page.evaluate('document.querySelector(".chart canvas")?.toDataURL() ?? ""');
  await page.locator(".chart canvas").waitFor();
  const light = await drawn();
  await page.emulateMedia({ colorScheme: "dark" });
  await until(async () => ![light, ""].includes(await drawn()), "the chart is drawn again");
  await page.emulateMedia({ colorScheme: "light" });
  await until(async () => (await drawn()) === light, "the chart is drawn as at first");
});

it("what was typed and not saved stays until the reader saves it, discards it or signs out", async () => {
  await service.request("PUT", "/api/tasks/acme/drafted", { json: { code: "() => 1" } });
  await using own = await openConsole(browser, service.url, service.admin);
  const { page } = own;
  const open = async (shown: string): Promise<void> => {
    await openPlace(page, "tasks/acme/drafted", "acme / drafted");
    await page.getByRole("textbox", { name: "Code of the task" }).getByText(shown).waitFor();
  };
  await open("() => 1");
  await writeCode(page, "Code of the task", "() => 2 // typed");
  await page.getByText("not saved yet").waitFor();
  await openPage(page, "Playground");
  // Ctrl-Enter runs from each field.
  await page.getByLabel("Data").fill('{ "items": [] }');
  await page.getByLabel("Data").press("Control+Enter");
  await page.getByRole("region", { name: "Result" }).getByText('"total": 0').waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Playground" }).waitFor();
  assert.equal(await page.getByLabel("Data").inputValue(), '{ "items": [] }');
  await open("() => 2 // typed");
  await page.getByRole("button", { name: "Discard them" }).click();
  await page.getByRole("textbox", { name: "Code of the task" }).getByText("() => 1").waitFor();
  await page.getByText("not saved yet").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  assert.equal(await page.evaluate("sessionStorage.length"), 0);
  assert.deepEqual(own.complaints, []);
});

it("usage is shown by container, task and token, and saved as CSV", async () => {
  const { page } = tab;
  await service.run("busy", "1");
  await openPlace(page, "usage?container=busy", "Usage");
  const table = page.getByRole("region", { name: "Usage" });
  for (const [by, name] of [
    ["container", "busy"],
    ["task", "busy / fails"],
    ["token", /busy, [0-9a-f]{8}/],
  ] as const) {
    await page.getByLabel("By").selectOption(by);
    await table.getByRole("cell", { name, exact: true }).first().waitFor();
  }
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const text = await readFile(await (await saved).path(), "utf8");
  const [head, ...lines] = text.trimEnd().split("\r\n");
  assert.match(head!, /^from,container,token,/);
  // As the page, the file has the container of the filter.
  assert.ok(lines.length > 0 && lines.every((line) => line.split(",")[1] === "busy"), text);
});

it("a task is tried before it is saved, its secrets are written and never shown, and its versions are compared", async () => {
  const { page } = tab;
  await openPlace(page, "tasks/acme", "Tasks");
  await page.getByLabel("New task").fill("tried");
  await page.getByRole("button", { name: "Write it" }).click();
  await page.getByRole("heading", { name: "acme / tried" }).waitFor();
  await writeCode(page, "Code of the task", "(context) => context.secrets.KEY.length");
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText("TypeError").first().waitFor();
  await page.getByRole("button", { name: "Create the task" }).click();
  await page.getByText("Saved as version 1").waitFor();
  await page.getByLabel("NAME=value").fill("KEY=s3cret");
  await page.getByRole("button", { name: "Set secrets" }).click();
  await page.getByText("The task has 1 secret").waitFor();
  const secrets = page.getByRole("region", { name: "Secrets" });
  await secrets.getByText("The code receives KEY").waitFor();
  const dialog = page.getByRole("dialog");
  await page.getByLabel("NAME=value").fill("KEY=s3crets");
  await page.getByRole("button", { name: "Replace secrets" }).click();
  await dialog.getByText("(KEY), which cannot be read again").waitFor();
  await dialog.getByRole("button", { name: "Replace" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("The task has 1 secret").waitFor();
  assert.equal((await service.request("POST", "/api/run/acme/tried")).text, "7");
  await page.reload();
  await page.getByRole("heading", { name: "acme / tried" }).waitFor();
  await writeCode(page, "Code of the task", "(context) => 7");
  // Other code loses the secrets, which the reader confirms.
  for (const answer of ["Cancel", "Save"]) {
    await page.getByRole("button", { name: "Save a new version" }).click();
    await dialog.getByText("has no secrets: KEY cannot be read again").waitFor();
    await dialog.getByRole("button", { name: answer }).click();
  }
  await page.getByText("Saved as version 4").waitFor();
  await secrets.getByText("The code receives").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Difference" }).last().click();
  await page.getByText("- (context) => context.secrets.KEY.length").waitFor();
  await page.getByText("+ (context) => 7").waitFor();
  assert.ok(!(await page.content()).includes("s3cret"));

  // Also from the playground a task is replaced only after a question.
  await openPage(page, "Playground");
  await page.getByLabel("Container").fill("acme");
  await page.getByText("Save as task").click();
  await page.getByLabel("Name of the task").fill("tried");
  await page.getByRole("button", { name: "Save task" }).click();
  await dialog.getByText("Version 4 stays among the versions").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Save task" }).click();
  await dialog.getByRole("button", { name: "Replace" }).click();
  await page.getByText("Saved as version 5").waitFor();
});

it("the editor completes the members of context and the names of Node's modules, and all of them exist", async () => {
  const { page } = tab;
  await openPage(page, "Playground");
  await writeCode(page, "Code", " ");
  const options = page.getByRole("listbox", { name: "Completions" }).getByRole("option");
  await page.keyboard.type("context.");
  await options.filter({ hasText: "traceparent" }).waitFor();
  assert.deepEqual((await options.allTextContents()).toSorted(), Object.keys(CONTEXT).toSorted());
  await options.filter({ hasText: "query" }).click();
  await page.getByRole("textbox", { name: "Code" }).getByText("context.query").waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.type('import("node:cry');
  await options.filter({ hasText: "node:crypto" }).click();
  await page.getByRole("textbox", { name: "Code" }).getByText('import("node:crypto').waitFor();

  const code = `async (context) => {
    const found = await Promise.allSettled(context.data.modules.map((name) => import("node:" + name)));
    return { members: Object.keys(context), refused: context.data.modules.filter((_, at) => found[at].status === "rejected") };
  }`;
  const { result } = (
    await service.request("POST", "/api/runs/demo", { json: { code, data: { modules: MODULES } } })
  ).json() as {
    result: { members: string[]; refused: string[] };
  };
  assert.deepEqual(result, { members: result.members, refused: [] });
  assert.deepEqual(result.members.toSorted(), Object.keys(CONTEXT).toSorted());
});

it("a token is issued with its permissions in plain words, shown once, and revoked with what falls with it", async () => {
  const { page } = tab;
  await openPage(page, "Tokens");
  const label = "webhook-owner: keeps public tasks, which end with this token, and reads their logs";
  await page.getByLabel("Preset").selectOption({ label });
  await page.getByLabel("Containers").fill("acme");
  await page.getByText("create, change and delete named tasks").waitFor();
  await page.getByRole("button", { name: "Issue token" }).click();
  const token = (await page.getByLabel("The new token").textContent())!;
  const task = { json: { code: "1" }, token };
  assert.equal((await service.request("PUT", "/api/tasks/acme/t", task)).status, 201);
  // The list has it at once.
  const issued = page.getByRole("region", { name: "Tokens" });
  await issued.getByRole("row").filter({ hasText: "run, tasks, logs" }).first().waitFor();
  const { jti } = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as { jti: string };
  await openPlace(page, `tokens/${jti}`, jti);
  assert.ok(!(await page.content()).includes(token));
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByText("0 tokens below it and 1 named task").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("heading", { name: "Issued tokens" }).waitFor();
  assert.equal((await service.run("acme", "1", { token })).status, 403);
  // The task that a reader did not want to replace.
  assert.deepEqual(
    tab.complaints.filter((text) => !text.includes("status of 412")),
    [],
  );
});
