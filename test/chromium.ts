import type { Browser } from "playwright-core";

/** The program that Debian's package installs. */
export const CHROMIUM = "/usr/bin/chromium";
/** Without these, Chromium looks for hosts of its vendor. */
const ARGUMENTS = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

export async function openBrowser(): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  return chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
}
