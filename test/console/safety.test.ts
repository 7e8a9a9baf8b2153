import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { NO_WALL, type Service, startService } from "../contract/service.ts";
import { openBrowser, openConsole, openPage, openPlace, type Tab } from "./console-browser.ts";
import { attempts, hostilePage, hostileScript, spoils } from "./hostile-page.ts";

const IMAGE = `<svg xmlns="http://www.w3.org/2000/svg"><script><![CDATA[${hostileScript()}]]></script></svg>`;
const SCRIPT =
  'globalThis.ranScript = true; globalThis.postMessage?.("ran"); globalThis.onconnect = ({ ports: [port] }) => port.postMessage("ran");';
const MARKUP = '<img src="x" onerror="globalThis.ran=1"><script>globalThis.ran=1</script><b>bold</b>';

let service: Service;
let browser: Browser;
let tab: Tab;

before(async () => {
  [service, browser] = await Promise.all([startService(NO_WALL), openBrowser()]);
  const answers = {
    page: ["text/html", hostilePage()],
    script: ["text/javascript", SCRIPT],
    image: ["image/svg+xml", IMAGE],
  };
  for (const [name, [type, body]] of Object.entries(answers)) {
    const code = `() => new Response(${JSON.stringify(body)}, { headers: { "content-type": "${type}", "service-worker-allowed": "/" } })`;
    await service.request("PUT", `/api/tasks/evil/${name}`, { json: { code, public: true } });
  }
  tab = await openConsole(browser, service.url, service.admin);
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

describe("a page that a task answers, with the console at the same origin", () => {
  for (const task of ["page", "image"]) {
    it(`gets nothing in a separate tab, as a ${task}`, async () => {
      const page = await tab.context.newPage();
      await page.goto(`${service.url}/api/run/evil/${task}`);
      assert.deepEqual(await spoils(page), {});
      await assertIntact();
    });
  }

  it("gets nothing as a popup of the console, and cannot navigate it", async () => {
    const opened = tab.context.waitForEvent("page");
    await tab.page.evaluate('void open("/api/run/evil/page")');
    assert.deepEqual(await spoils(await opened), {});
    await assertIntact();
  });

  it("gets nothing in a frame, because its own page cannot embed the console either", async () => {
    await tab.page.evaluate(`
      const frame = document.createElement("iframe");
      frame.src = "/api/run/evil/page";
      document.body.append(frame);
      frame.id = "evil"; void 0`);
    // The policy of the console permits no frame, so the task does not even run.
    const frame = tab.page.frames().at(-1)!;
    await frame.waitForLoadState();
    assert.ok(!(await frame.content()).includes("evil"));
    await tab.page.evaluate('document.querySelector("#evil").remove()');
    await assertIntact();
  });

  it("is no script, worker or service worker of the console, even for code that has got into the console's page", async () => {
    const got = await tab.page.evaluate<Record<string, string>>(`(async () => {
      const { serviceWorker, worker, sharedWorker, script } = ${attempts()};
      const got = {};
      for (const [name, attempt] of Object.entries({ serviceWorker, worker, sharedWorker, script })) {
        try { got[name] = String(await attempt()); } catch {}
      }
      return got;
    })()`);
    assert.deepEqual(got, {});
    assert.equal(await tab.page.evaluate("globalThis.ranScript"), undefined);
    await assertIntact();
  });
});

describe("markup that tasks print, throw or are described with", () => {
  it("is text on every page that shows it", async () => {
    const text = JSON.stringify(MARKUP);
    await service.run("markup", `console.log(${text}); console.error(${text}); return ${text}`);
    const failed = await service.run(
      "markup",
      `console.log(${text}); throw Object.assign(new Error(${text}), { name: ${text} })`,
    );
    const run = failed.headers["caisson-run"]!;
    await service.request("PATCH", "/api/containers/markup", { json: { description: MARKUP } });
    await service.request("PUT", "/api/tasks/markup/t", { json: { code: `// ${MARKUP}\n1`, description: MARKUP } });
    await service.issue({ containers: ["markup"], description: MARKUP });
    const { page } = tab;
    await openPage(page, "Playground");
    const editor = page.getByRole("textbox", { name: "Code" });
    await editor.click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(`console.log(${text}); return ${text}`);
    await page.keyboard.press("Control+Enter");
    await page.getByRole("region", { name: "Result" }).getByText("<b>bold</b>").first().waitFor();
    const html = `return new Response(${text}, { headers: { "content-type": "text/html" } })`;
    await editor.click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(html);
    await page.keyboard.press("Control+Enter");
    await page.getByRole("region", { name: "Result" }).getByText("A response with status 200, text/html").waitFor();
    await page.getByRole("region", { name: "Result" }).getByText("<b>bold</b>").waitFor();
    assert.equal(await page.locator("main b, main img, main script").count(), 0, html);
    for (const [place, heading] of [
      [`runs/markup/${run}`, run],
      ["runs", "Runs"],
      ["errors", "Errors"],
      ["containers/markup", "markup"],
      ["tasks/markup/t", "markup / t"],
      ["tokens", "Tokens"],
      ["system", "System"],
    ] as const) {
      await openPlace(page, place, heading);
      if (place !== "system") await page.getByRole("main").getByText("<b>bold</b>").first().waitFor();
      assert.equal(await page.locator("main b, main img, main script").count(), 0, place);
    }
    assert.equal(await page.evaluate("globalThis.ran"), undefined);
    await assertIntact();
  });
});

/** Fails unless the console is where it was, signed in, and its token did nothing. */
async function assertIntact(): Promise<void> {
  const { page } = tab;
  assert.ok(page.url().startsWith(`${service.url}/`) && !page.url().includes("/api/"));
  assert.equal(await page.evaluate('sessionStorage.getItem("caisson.token")'), service.admin);
  const { tokens } = (await service.request("GET", "/api/tokens")).json() as {
    tokens: { jti: string; revoked: unknown }[];
  };
  assert.ok(tokens.every(({ revoked }) => revoked === null));
}
