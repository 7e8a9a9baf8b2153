import { Problem } from "../../errors.ts";
import type { GuestExit } from "../../sandbox/sandbox.ts";

/** What the runs of a guest are answered that sent what it should not have: submitted code wrote to its descriptor. */
export function forgeryCause(cause: unknown, runs: number): Problem {
  if (runs > 1) return new Problem("container_restarted", "another run broke the protocol of the container", { cause });
  return new Problem("task_exited", "the task broke the protocol of its container", { cause });
}

export const EXITED_BY_ANOTHER: Problem = new Problem("container_restarted", "another run ended the container");

export const REPLACED: Problem = new Problem("container_restarted", "the container was replaced");

export const MEMORY_HINT = "Hold less at a time, or have the operator raise --memory-limit.";

/** What the runs of a guest that ended by itself are answered. */
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
    const hint = "Keep less and fewer files in the temporary folder, or have the operator raise --tmp-limit.";
    return new Problem("task_exited", "the task keeps more in its temporary folder than it may", { cause, hint });
  }
  return new Problem("task_exited", "the task ended its process before it gave a result", { cause });
}
