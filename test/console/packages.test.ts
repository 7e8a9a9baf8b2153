import assert from "node:assert/strict";
import { after, before, it } from "node:test";

import type { Browser } from "playwright-core";

import { TestRegistry } from "../builder/test-registry.ts";
import { assertProblem } from "../contract/problem.ts";
import { NO_WALL, type Service, startService } from "../contract/service.ts";
import {
  checkInThemes,
  openBrowser,
  openConsole,
  openPage,
  openPlace,
  type Tab,
  writeCode,
} from "./console-browser.ts";

const CODE = 'import { twice } from "double";\nexport default () => twice(21);';

let registry: TestRegistry;
let service: Service;
let browser: Browser;
let tab: Tab;

before(async () => {
  registry = await TestRegistry.open();
  registry.publish("half", "1.0.0", { "index.js": "exports.half = (number) => number / 2;" });
  const files = { "index.js": "exports.twice = (number) => number * 2;" };
  registry.publish("double", "1.0.0", files, { manifest: { dependencies: { half: "^1" } } });
  [service, browser] = await Promise.all([
    startService([...NO_WALL, "--npm-registry", registry.url.href, "--npm-allow", "half"]),
    openBrowser(),
  ]);
  tab = await openConsole(browser, service.url, service.admin);
});
after(async () => {
  await browser?.close();
  await service?.stop();
  registry.close();
});

it("a package is refused until an administrator allows it, and then it is built and imported", async () => {
  const { page } = tab;
  await openPage(page, "Playground");
  await page.getByLabel("Container").fill("acme");
  await page.getByLabel("Data").fill("");
  await page.getByLabel("Packages of npm").fill("double@^1");
  await writeCode(page, "Code", CODE);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("alert").getByText("double").waitFor();

  await openPage(page, "Packages");
  const allowed = page.getByRole("region", { name: "What code may import" });
  await allowed.getByText("by the setting --npm-allow").waitFor();
  await allowed.getByLabel("Allow a package").fill("double");
  await allowed.getByRole("button", { name: "Allow" }).click();
  await allowed.getByText("by an administrator").waitFor();
  await page.getByLabel("Packages to build").fill("double@^1");
  const builds = page.getByRole("region", { name: "Builds under way" });
  await builds.getByText("No build runs or waits").waitFor();
  const gate = Promise.withResolvers<void>();
  // The archive of a package does not arrive, until the page has shown the build.
  registry.instead.set("/half/-/half-1.0.0.tgz", (request, response) => {
    void (async () => {
      await gate.promise;
      registry.instead.delete("/half/-/half-1.0.0.tgz");
      response.writeHead(307, { location: request.url! }).end();
    })();
  });
  await page.getByRole("button", { name: "Build", exact: true }).click();
  await builds.getByRole("listitem").filter({ hasText: "building" }).getByText("double@^1").waitFor();
  gate.resolve();
  await page.getByText("Built double@1.0.0: 2 packages").waitFor({ timeout: 30_000 });
  await page.getByRole("region", { name: "Built packages" }).getByRole("cell", { name: "double 1.0.0" }).waitFor();
  await checkInThemes(page, "packages");
  await page.getByRole("link", { name: "Its lock" }).click();
  await page
    .getByRole("region", { name: "Packages of the lock" })
    .getByRole("row", { name: /double.*half@1.0.0/ })
    .waitFor();
  await checkInThemes(page, "lock");

  await openPage(page, "Playground");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const result = page.getByRole("region", { name: "Result" });
  await result.getByText("42").first().waitFor({ timeout: 30_000 });
  await result.getByRole("link", { name: "double 1.0.0" }).waitFor();
});

it("a task keeps its versions until the reader moves them", async () => {
  const { page } = tab;
  await openPlace(page, "tasks/acme/twice", "acme / twice");
  await writeCode(page, "Code of the task", CODE);
  await page.getByLabel("Packages of npm").fill("double@^1");
  await page.getByRole("button", { name: "Create the task" }).click();
  await page.getByText("locked to double@1.0.0").waitFor({ timeout: 30_000 });
  const files = { "index.js": "exports.twice = (number) => number + number;" };
  registry.publish("double", "1.1.0", files, { manifest: { dependencies: { half: "^1" } } });
  await page.getByRole("button", { name: "Update versions" }).click();
  await page.getByText("Version 2 has double@1.1.0").waitFor({ timeout: 30_000 });
  const { result } = (await service.request("POST", "/api/runs/acme?task=twice")).json() as { result: unknown };
  assert.equal(result, 42);
});

it("a token is narrowed to packages, and the form states that in plain words", async () => {
  const { page } = tab;
  await openPage(page, "Tokens");
  await page.getByLabel("Containers").fill("acme");
  await page.getByLabel("Packages that its code imports").fill("none");
  await page.getByText("Its code imports no package of npm.").waitFor();
  await page.getByRole("button", { name: "Issue token" }).click();
  const token = (await page.getByLabel("The new token").textContent())!;
  const json = { code: CODE, packages: { double: "^1" } };
  const refused = await service.request("POST", "/api/runs/acme", { json, token });
  assertProblem(refused, 403, "packages_forbidden");
});

it("a package is taken from the list, and a set is removed, only after a question that names what that destroys", async () => {
  const { page } = tab;
  await openPage(page, "Packages");
  await page.getByRole("button", { name: "Remove double from the list" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Runs that import double").waitFor();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText("Code may not import double any more").waitFor();
  await page.getByRole("region", { name: "Built packages" }).getByRole("link").first().click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await dialog.getByText("The built text is deleted").waitFor();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("heading", { level: 1, name: "Packages" }).waitFor();
  // The refused run, and the task that did not exist yet.
  assert.deepEqual(
    tab.complaints.filter((text) => !/status of 40[34]/.test(text)),
    [],
  );
});
