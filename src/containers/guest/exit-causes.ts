import { Problem } from "../../errors.ts";
import type { GuestExit } from "../../sandbox/sandbox.ts";

/** Returns the problem for the runs of a guest that broke the protocol: submitted code wrote to the guest's descriptor. */
export function forgeryCause(cause: unknown, runs: number): Problem {
  if (runs > 1) return new Problem("container_restarted", "another run broke the protocol of the container", { cause });
  return new Problem("task_exited", "the task broke the protocol of its container", { cause });
}

export const EXITED_BY_ANOTHER: Problem = new Problem("container_restarted", "another run ended the container");

export const REPLACED: Problem = new Problem("container_restarted", "the container was replaced");

export const MEMORY_HINT = "Hold less data in memory at a time, or ask the operator to raise --memory-limit.";

/** Returns the problem for the runs of a guest whose process ended and was not ended by the service. */
export function exitCause(exit: GuestExit, runs: number): Problem {
  const cause = new Error(exit.how);
  if (runs > 1) {
    const why = exit.outOfMemory ? "ran out of memory" : exit.outOfDisk ? "filled its temporary disk" : "ended";
    return new Problem("container_restarted", `the container ${why} while ${runs} runs were in flight`, { cause });
  }
  if (exit.outOfMemory) {
    return new Problem("task_memory", "the task needs more memory than its container has", {
      cause,
      hint: MEMORY_HINT,
    });
  }
  if (exit.outOfDisk) {
    const hint = "Store smaller or fewer files in the temporary folder, or ask the operator to raise --tmp-limit.";
    return new Problem("task_exited", "the task stored more in its temporary folder than its limit", { cause, hint });
  }
  const hint = "Return a result, or throw an error, instead of ending the process.";
  return new Problem("task_exited", "the task ended its process before it gave a result", { cause, hint });
}
