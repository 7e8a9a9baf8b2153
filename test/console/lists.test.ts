import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { after, before, it } from "node:test";

import type { Browser, Page } from "playwright-core";

import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "../contract/service.ts";
import { keepMany } from "../records/days/kept-runs.ts";
import { openBrowser, openConsole, openPage, type Tab } from "./console-browser.ts";

const RUNS = 10_000;
const CONTAINERS = 1_000;
const AT_ONCE = 20;
/** A window of 850 pixels shows 25 rows; the rest is a margin for fast scrolling. */
const MOST_ROWS = 80;

/** Keeps the most rows that the page has added in one turn, which is what one frame has to draw. */
const COUNT_ROWS = `
  globalThis.mostAdded = 0;
  new MutationObserver((changes) => {
    const added = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter(({ nodeName }) => nodeName === "TR");
    mostAdded = Math.max(mostAdded, added.length);
  }).observe(document.querySelector("main"), { childList: true, subtree: true }); void 0`;

/** Keeps the durations of tasks over 50 ms (https://www.w3.org/TR/longtasks-1/), in which the page draws nothing. */
const OBSERVE_TASKS = `
  globalThis.longTasks = [];
  new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: "longtask" }); void 0`;

let home: Home;
let service: Service;
let browser: Browser;
let tab: Tab;

before(async () => {
  home = await makeHome();
  await mkdir(home.data);
  await keepMany(path.join(home.data, "runs"), RUNS, CONTAINERS);
  [service, browser] = await Promise.all([startService(NO_WALL, home), openBrowser()]);
  for (let at = 0; at < CONTAINERS; at += AT_ONCE) {
    const names = Array.from({ length: AT_ONCE }, (_, next) => `c${at + next}`);
    await Promise.all(
      names.map((name) => service.request("PUT", `/api/containers/${name}`, { json: { limits: { minute: 60 } } })),
    );
  }
  tab = await openConsole(browser, service.url, service.admin);
});
after(async () => {
  await browser?.close();
  await leave(service, home);
});

for (const [name, list, all] of [
  ["Runs", "Runs", "10,000 runs"],
  ["Containers", "Containers", "1,000 containers"],
] as const) {
  it(`a list of ${all} has only the rows in view in the document, and the end can be reached`, async (t) => {
    const { page } = tab;
    await openPage(page, name);
    await page.evaluate(OBSERVE_TASKS);
    await page.evaluate(COUNT_ROWS);
    const most = await scrollToEnd(page, list, all);
    assert.ok(most > 20 && most < MOST_ROWS, `${most} rows`);
    const added = await page.evaluate<number>("globalThis.mostAdded");
    assert.ok(added > 0 && added < MOST_ROWS, `${added} rows were added at once`);
    const rows = Number(
      await page.getByRole("region", { name: list }).getByRole("table").getAttribute("aria-rowcount"),
    );
    assert.equal(rows, Number(all.replace(/\D/g, "")) + 1);
    // The first row is there again at the top.
    await page.getByRole("region", { name: list }).evaluate((box) => ((box as unknown as Box).scrollTop = 0));
    await page.locator('tr[aria-rowindex="2"]').waitFor();
    // Not a claim about this machine, which runs other tests at the same time: a figure for the reader of the report.
    const tasks = await page.evaluate<number[]>("globalThis.longTasks");
    const longest = tasks.length === 0 ? "" : `, the longest ${Math.round(Math.max(...tasks))} ms`;
    t.diagnostic(`${tasks.length} tasks of the page over 50 ms during the scroll${longest}`);
    assert.deepEqual(tab.complaints, []);
  });
}

interface Box {
  scrollTop: number;
  readonly scrollHeight: number;
  querySelectorAll(selector: string): { readonly length: number };
}

/** Scrolls until the list shows that it is complete. @returns the most rows that were in the document at once */
async function scrollToEnd(page: Page, list: string, all: string): Promise<number> {
  const region = page.getByRole("region", { name: list });
  const status = page.getByRole("status").last();
  let most = 0;
  for (;;) {
    const rows = await region.evaluate((element) => {
      const box = element as unknown as Box;
      box.scrollTop = box.scrollHeight;
      return box.querySelectorAll("tbody tr").length;
    });
    most = Math.max(most, rows);
    if ((await status.textContent()) === all) return most;
  }
}
