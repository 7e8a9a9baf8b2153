import { Problem } from "../../errors.ts";
import { formatDuration, formatSize } from "../../units.ts";
import { MEMORY_HINT } from "../guest/exit-causes.ts";
import type { Guest } from "../guest/guest.ts";
import { blockedRun, type BlockedStatus, COMPUTING_HINT, interruptedAt, lineText } from "./blocked-run.ts";
import type { Finding } from "./findings.ts";
import type { MonitorLimits } from "./judges.ts";
import { windowMs } from "./limit-check.ts";

/**
 * Ends a guest, or replaces it after its runs if it has only grown, or keeps a low share.
 *
 * @param status what the kernel reports of the guest. A task can forge its title.
 */
export async function actOnFinding(
  finding: Finding,
  guest: Guest,
  status: BlockedStatus,
  limits: MonitorLimits,
): Promise<void> {
  if (finding === "grown" || finding === "slowed") return guest.retireWhenPossible();
  if (finding === "blocked") return await endBlocked(guest, status, limits);
  const culprit = guest.inFlight.only;
  const restarted = new Problem("container_restarted", `the container used more than its ${finding}`);
  guest.crash(restarted, culprit === null ? undefined : { id: culprit, cause: overLimit(finding, limits) });
}

function overLimit(finding: "memory" | "threads" | "processors", limits: MonitorLimits): Problem {
  const { memoryBytes, threads, cpuCores } = limits;
  if (finding === "memory") {
    return new Problem("task_memory", `the task needs more than the ${formatSize(memoryBytes)} of its container`, {
      hint: MEMORY_HINT,
    });
  }
  if (finding === "threads") {
    return new Problem("task_exited", `the task started more than the ${threads} threads of its container`, {
      hint: "Start fewer worker threads, or ask the operator to raise --thread-limit.",
    });
  }
  const excess = `more than ${cpuCores} processors for ${formatDuration(windowMs(limits))}`;
  return new Problem("task_exited", `the task used ${excess}, which is the limit of its container`, {
    hint: "Compute less at a time, in fewer threads, or ask the operator to raise --cpu-limit.",
  });
}

async function endBlocked(guest: Guest, status: BlockedStatus, limits: MonitorLimits): Promise<void> {
  const duration = formatDuration(limits.blockMs);
  const culprit = blockedRun(guest, status.title);
  const restarted = new Problem("container_restarted", `another run blocked the container for ${duration}`);
  if (culprit === null) return guest.crash(restarted);
  const at = await interruptedAt(guest, culprit, status);
  const cause = new Problem("task_blocked", `the task blocked its event loop for ${duration}${lineText(at)}`, {
    hint:
      status.state === "S"
        ? ASLEEP
        : `${collected(status, limits)}${at ? COMPUTING_HINT : ONE_CALL} Or ask the operator to raise --block-limit.`,
    ...(at && { at }),
  });
  guest.crash(restarted, { id: culprit, cause });
}

/** What may explain the block, if the guest holds much memory: V8 then collects garbage most of the time, before the memory is used up. */
function collected({ memoryBytes }: BlockedStatus, limits: MonitorLimits): string {
  if (memoryBytes < limits.memoryBytes * MUCH_MEMORY) return "";
  const held = formatSize(Math.round(memoryBytes / MIB) * MIB);
  return `Its container held ${held} of the ${formatSize(limits.memoryBytes)} of memory that it may have: perhaps a loop adds to a list or a text without end. `;
}

const MIB = 2 ** 20;
/** The part of its memory that an idle guest is far from. */
const MUCH_MEMORY = 1 / 2;

/** The fix for code without a position: V8 interrupts its own loops, and no function of Node. */
const ONE_CALL =
  "Perhaps one call takes long, such as sort or JSON.stringify of much data, or a function whose name ends with Sync: give it less, or use the form that returns a promise. A result of many megabytes takes long, too: return a part of it, or a Response with a stream. A loop that prints many lines with console.log takes long: print less. Give the event loop a turn in long loops.";

/** The fix for code that waits in a system call. */
const ASLEEP =
  "The code waits in a call that stops its thread, such as Atomics.wait or a function whose name ends with Sync: use the form that returns a promise.";
