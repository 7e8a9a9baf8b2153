import { statSync } from "node:fs";
import { constants, setPriority } from "node:os";

import { executeWhole } from "./plan/execute-plan.ts";
import { guestPlan } from "./plan/guest-plan.ts";
import { stepsFor } from "./plan/steps.ts";
import type { Architecture } from "./seccomp/system-calls.ts";

/** The highest niceness. A thread with it weighs a seventh of a guest's other threads. */
export const LAST_NICENESS = 19;

const PRIO_PROCESS = 0;
const CLOSE_FROM = 4;

/**
 * Gives threads of a guest the highest niceness. Root of a container has no CAP_SYS_NICE by default and may not change a guest of another
 * user. Then a stub process becomes the guest's user and changes its threads. Errors are ignored, because threads may end at any time.
 *
 * @param stub the file of the stub; null if the guest has the user of this process.
 */
export async function lowerThreads(pid: number, threads: readonly number[], stub: string | null): Promise<void> {
  const refused = threads.filter((thread) => !mayLower(thread));
  if (refused.length === 0 || stub === null) return;
  try {
    const { uid, gid } = statSync(`/proc/${pid}`);
    const architecture = process.arch as Architecture;
    const step = stepsFor(architecture);
    const become = guestPlan({
      architecture,
      closeFrom: CLOSE_FROM,
      identity: { uid, gid },
      diesWithParent: true,
    }).steps;
    const lower = refused.map((thread) => step("setpriority", [PRIO_PROCESS, thread, LAST_NICENESS]));
    const all = [...lower, step("exit_group", [0])].map((each) => ({ ...each, mayFail: true }));
    await executeWhole(stub, { steps: [...become, ...all] });
  } catch {
    // The guest has ended, or no process can be started now.
  }
}

/** Lowers a thread if this process may do so. */
function mayLower(thread: number): boolean {
  try {
    setPriority(thread, LAST_NICENESS);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).errno !== -constants.errno.EPERM;
  }
}
