import { landlockAbi } from "../../src/sandbox/plan/execute-plan.ts";
import type { Architecture } from "../../src/sandbox/seccomp/system-calls.ts";
import { prepareRunFolder } from "../../src/sandbox/temp/run-folder.ts";

/** The version of this kernel's Landlock, 0 where it has none: known before a test that needs it. */
export async function ownLandlock(): Promise<number> {
  const folder = await prepareRunFolder();
  return landlockAbi(folder.stub, process.arch as Architecture).finally(() => folder.remove());
}
