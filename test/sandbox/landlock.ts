import { landlockAbi } from "../../src/sandbox/plan/play.ts";
import { prepareRunFolder } from "../../src/sandbox/run-folder.ts";
import type { Architecture } from "../../src/sandbox/system-calls.ts";

/** The version of this kernel's Landlock, 0 where it has none: known before a test that needs it. */
export async function ownLandlock(): Promise<number> {
  const folder = await prepareRunFolder();
  return landlockAbi(folder.player, process.arch as Architecture).finally(() => folder.remove());
}
