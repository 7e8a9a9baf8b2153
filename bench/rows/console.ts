import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";

import type { Page } from "playwright-core";

import { CHROMIUM, openBrowser } from "../../test/chromium.ts";
import { keepMany } from "../../test/records/days/kept-runs.ts";
import type { Bench } from "../bench.ts";
import type { Round } from "../row.ts";

const RUNS = 10_000;
const CONTAINERS = 1_000;
const AT_ONCE = 20;
const BUSY = 8;
const RELOADS = 5;
/** The pixels of a fast scroll in each frame. */
const STEP_PX = 1_500;

/** Whether this machine has the browser. The figures of the console are left out without it. */
export function hasBrowser(): boolean {
  return existsSync(CHROMIUM);
}

/** Opens the web console with 10,000 runs and 1,000 containers in Chromium, and scrolls through both lists to their ends. */
export async function measureConsole(bench: Bench): Promise<Round> {
  await using service = await bench.seeded(keepRuns);
  const { url, token } = service;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  for (let at = 0; at < CONTAINERS; at += AT_ONCE) {
    const names = Array.from({ length: AT_ONCE }, (_, next) => `c${at + next}`);
    const request = { method: "PUT", headers, body: '{"limits":{"minute":60}}' };
    await Promise.all(names.map((name) => fetch(`${url}/api/containers/${name}`, request)));
  }
  // The overview shows what the service has counted.
  for (let at = 0; at < BUSY; at++)
    await fetch(`${url}/api/run/c${at}`, { method: "POST", headers, body: '{"code":"1"}' });
  await using browser = await openBrowser();
  const context = await browser.newContext({ viewport: { width: 1_200, height: 850 } });
  const page = await context.newPage();
  await page.goto(`${url}/#token=${token}`);
  const complete = page.getByRole("heading", { name: "Busiest containers" });
  await complete.waitFor();
  // Each time everything is loaded again.
  const session = await context.newCDPSession(page);
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  const opened: number[] = [];
  for (let count = 0; count < RELOADS; count++) {
    await page.reload({ waitUntil: "commit" });
    await complete.waitFor();
    opened.push(await page.evaluate<number>("performance.now()"));
  }
  const runs = await longestFrame(page, "Runs");
  const containers = await longestFrame(page, "Containers");
  const openMs = opened.toSorted((a, b) => a - b)[Math.floor(RELOADS / 2)]!;
  return { openMs, frameMs: Math.max(runs, containers), runsFrameMs: runs, containersFrameMs: containers };
}

async function keepRuns(data: string): Promise<void> {
  await mkdir(data, { recursive: true });
  await keepMany(path.join(data, "runs"), RUNS, CONTAINERS);
}

/** Opens a list, and scrolls fast until it is complete and its end is in view. @returns the longest time between two frames */
async function longestFrame(page: Page, name: string): Promise<number> {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("region", { name }).locator("tbody tr").nth(10).waitFor();
  return page.evaluate<number>(`new Promise((resolve) => {
    const box = document.querySelector('main [role="region"][aria-label="${name}"]');
    let [last, longest] = [performance.now(), 0];
    const frame = (now) => {
      longest = Math.max(longest, now - last);
      last = now;
      box.scrollTop += ${STEP_PX};
      const isComplete = [...document.querySelectorAll('[role="status"]')].some((each) => /^[\\d,]+ (runs|containers)$/.test(each.textContent));
      if (isComplete && box.scrollTop + box.clientHeight >= box.scrollHeight - 1) resolve(longest);
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame((now) => {
      last = now;
      requestAnimationFrame(frame);
    });
  })`);
}
