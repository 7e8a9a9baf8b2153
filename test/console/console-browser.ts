import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

import type { Browser, BrowserContext, Page } from "playwright-core";

import { drawn } from "../seeded.ts";

export { openBrowser } from "../chromium.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const WIDE = { width: 1_200, height: 850 };
/** The narrowest phone. */
const NARROW = { width: 360, height: 740 };
export const PAGES: readonly string[] = [
  ...["Overview", "Playground", "Containers", "Tasks", "Runs", "Errors", "Tokens", "Usage", "Packages", "System"],
];

/** A tab of the console, with everything that its page complained about. */
export interface Tab extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly complaints: string[];
}

interface TabOptions {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: "light" | "dark";
  readonly ignoreHTTPSErrors?: boolean;
}

/** Opens a URL in a browser without a past. */
export async function openTab(browser: Browser, url: string, options: TabOptions = {}): Promise<Tab> {
  const context = await browser.newContext({ viewport: WIDE, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      complaints.push(`${message.text()} at ${message.location().url}`);
  });
  page.on("pageerror", ({ message }) => complaints.push(message));
  await page.goto(url);
  return { page, context, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** Opens the console, and signs in as a reader does. */
export async function openConsole(browser: Browser, url: string, token: string, options?: TabOptions): Promise<Tab> {
  const tab = await openTab(browser, url, options);
  await tab.page.getByLabel("Token").fill(token);
  await tab.page.keyboard.press("Enter");
  await tab.page.getByRole("main").getByRole("heading", { name: "Overview" }).waitFor();
  return tab;
}

/** Opens a page of the navigation by its name, and waits until the page has read everything. */
export async function openPage(page: Page, name: string): Promise<void> {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
  await settled(page);
}

/** Opens a page by its place in the fragment, and waits until the page has read everything. */
export async function openPlace(page: Page, place: string, heading: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${place}`)}`);
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
  await settled(page);
}

/** Waits until a page shows neither a note that it loads nor an editor without its code. */
export async function settled(page: Page): Promise<void> {
  await page.getByText("Loading...").first().waitFor({ state: "detached" });
  await page.locator(".waiting").waitFor({ state: "detached" });
}

/** Returns the pixels by which the document is wider than the window. */
function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

const VIEWS = [
  ["light", WIDE],
  ["light", NARROW],
  ["dark", WIDE],
  ["dark", NARROW],
] as const;
let views: readonly (typeof VIEWS)[number][] | null = null;

/** Checks what a page shows now, light and dark, on a wide screen and on a phone: axe-core, and that nothing is cut off. */
export async function checkInThemes(page: Page, name: string): Promise<void> {
  views ??= drawn("themes and widths", VIEWS, 1);
  for (const [colorScheme, viewport] of views) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    const what = [name, colorScheme, viewport.width];
    assert.deepEqual([...what, await findings(page), await overflow(page)], [...what, [], 0]);
    await keepScreenshot(page, `${name}-${colorScheme}-${viewport.width}`);
  }
  await page.setViewportSize(WIDE);
}

/** Replaces the text of an editor. */
export async function writeCode(page: Page, label: string, code: string): Promise<void> {
  const editor = page.getByRole("textbox", { name: label, exact: true });
  await editor.click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(code);
}

/** The screenshots that a reviewer looks at. Each run of the tests replaces them. */
const SCREENSHOTS = path.join(import.meta.dirname, "../../dist/console-screenshots");

/** Keeps the whole page as an image. */
async function keepScreenshot(page: Page, name: string): Promise<void> {
  await mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), fullPage: true });
}

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Returns the serious and critical findings of axe-core, each with the elements that it concerns. */
export async function findings(page: Page): Promise<string[]> {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(AXE);
  const { violations } = await page.evaluate<{ violations: Finding[] }>(
    'axe.run(document, { resultTypes: ["violations"] })',
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}
