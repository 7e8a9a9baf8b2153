import { Problem } from "../../errors.ts";
import type { GuestStatus } from "../../sandbox/sandbox.ts";
import { formatDuration, formatSize } from "../../units.ts";
import { MEMORY_HINT } from "../guest/exit-causes.ts";
import type { Guest } from "../guest/guest.ts";
import { blockedPosition } from "./blocked-position.ts";
import type { Finding } from "./findings.ts";
import type { MonitorLimits } from "./judges.ts";
import { windowMs } from "./limit-check.ts";

/**
 * Ends a guest, or replaces it after its runs if it has only grown.
 *
 * @param status what the kernel reports of the guest. A task can forge its title.
 */
export async function actOnFinding(
  finding: Finding,
  guest: Guest,
  status: Pick<GuestStatus, "title" | "state">,
  limits: MonitorLimits,
): Promise<void> {
  if (finding === "grown") return guest.retire();
  if (finding === "blocked") return await endBlocked(guest, status, formatDuration(limits.blockMs));
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

async function endBlocked(
  guest: Guest,
  { title, state }: Pick<GuestStatus, "title" | "state">,
  duration: string,
): Promise<void> {
  const culprit = blockedRun(guest, title);
  const restarted = new Problem("container_restarted", `another run blocked the container for ${duration}`);
  if (culprit === null) return guest.crash(restarted);
  // The frames are named by the code, so another run of the guest cannot be meant by mistake.
  const codeId = guest.inFlight.get(culprit)?.code.id;
  // A guest that sleeps cannot print its stack.
  const mayPrint = state === "R" && codeId !== undefined;
  const at = mayPrint ? blockedPosition(await guest.interrupt(), codeId) : null;
  const where = at === null ? "" : `, in line ${at.line}${/^task\.[jt]s$/.test(at.file) ? "" : ` of ${at.file}`}`;
  const cause = new Problem("task_blocked", `the task blocked its event loop for ${duration}${where}`, {
    hint: "Give the event loop a turn in long loops: await new Promise(setImmediate). Or ask the operator to raise --block-limit.",
    ...(at && { at }),
  });
  guest.crash(restarted, { id: culprit, cause });
}

/** Returns the run that the guest names in its title (`r` and the id in base 36), or its only run, or null. */
function blockedRun(guest: Guest, title: string): number | null {
  const entered = /^r([0-9a-z]{1,7})$/.exec(title);
  const id = entered ? Number.parseInt(entered[1]!, 36) : Number.NaN;
  return guest.inFlight.get(id) ? id : guest.inFlight.only;
}
