import { type Cgroups, heldBy } from "./cgroup/cgroup.ts";
import type { GuestResources } from "./local-sandbox.ts";
import type { RlimitName } from "./plan/guest-plan.ts";

/** V8 needs room beside its heap: the code range, stacks, the young generation. Measured: 600 MiB of data segment. */
const DATA_HEADROOM_BYTES = 640 * 2 ** 20;
/** Where no control group gives guests less weight than the service. */
const NICENESS = 5;

/** Signals that wait to be taken: a guest can send them to itself only. */
const PENDING_SIGNALS = 64;

/**
 * What a plan limits a guest to (setrlimit(2)), in the same way, and where it has the right, its priority.
 *
 * @param ownUser whether the guest has a user of its own: the kernel counts the threads of a user over the whole host.
 */
export function guestLimits(
  limits: GuestResources,
  cgroups: Cgroups | null,
  ownUser: boolean,
): { rlimits: Partial<Record<RlimitName, number>>; niceness?: number } {
  const held = heldBy(cgroups);
  const rlimits = {
    core: 0,
    nofile: limits.descriptors,
    fsize: limits.tmpBytes,
    memlock: 0,
    msgqueue: 0,
    sigpending: PENDING_SIGNALS,
    ...(ownUser ? { nproc: limits.threads } : {}),
  };
  return {
    rlimits: held.memory ? rlimits : { ...rlimits, data: limits.memoryBytes + DATA_HEADROOM_BYTES },
    ...(held.cpu ? {} : { niceness: NICENESS }),
  };
}

/**
 * For a guest that no plan is played for: the command that sets the limits of a process (setrlimit(2)) and becomes what follows it: no core files, few descriptors,
 * no file beyond the size of the temporary disk.
 */
export function underLimits(limits: GuestResources, cgroups: Cgroups | null): string[] {
  const values: Record<string, number> = { c: 0, n: limits.descriptors, f: Math.ceil(limits.tmpBytes / 512) };
  // Only where no control group holds memory: under it a worker thread does not start, for want of a code range.
  const held = heldBy(cgroups);
  if (!held.memory) values["d"] = Math.ceil((limits.memoryBytes + DATA_HEADROOM_BYTES) / 1_024);
  const steps = Object.entries(values).map(([letter, value]) => `ulimit -${letter} ${value}`);
  const become = held.cpu ? 'exec "$0" "$@"' : `exec nice -n ${NICENESS} "$0" "$@"`;
  return ["/bin/sh", "-c", `${steps.join(" && ")} && ${become}`];
}
