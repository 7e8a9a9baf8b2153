import { landlockAbi } from "../../src/sandbox/plan/execute-plan.ts";
import type { Architecture } from "../../src/sandbox/seccomp/system-calls.ts";
import { prepareRunFolder } from "../../src/sandbox/temp/run-folder.ts";

/** Returns the version of this kernel's Landlock, or 0 if it has none, for tests that need it. */
export async function ownLandlock(): Promise<number> {
  const folder = await prepareRunFolder();
  return landlockAbi(folder.stub, process.arch as Architecture).finally(() => folder.remove());
}
