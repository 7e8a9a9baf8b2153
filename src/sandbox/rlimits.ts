import { getPriority } from "node:os";

import { type Cgroups, heldBy } from "./cgroup/cgroup.ts";
import type { GuestResources } from "./local-sandbox.ts";
import { GUEST_NICENESS } from "./niceness.ts";
import type { RlimitName } from "./plan/guest-plan.ts";

/**
 * The data segment that V8 needs in addition to its heap, for the code range, stacks and the young generation. Measured:
 * 600 MiB.
 */
const DATA_HEADROOM_BYTES = 640 * 2 ** 20;

/** The maximum number of pending signals. A guest can send signals only to itself. */
const PENDING_SIGNALS = 64;

/**
 * Returns the limits of a guest (setrlimit(2)) and its niceness, for its plan.
 *
 * @param ownUser whether the guest has a separate user. The kernel counts the threads of a user over the whole host.
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
    // A process without privileges may not lower its niceness, and the operator may have started the service with more.
    ...(held.cpu ? {} : { niceness: Math.max(GUEST_NICENESS, getPriority()) }),
  };
}

/**
 * Returns the command for a guest without a plan. It sets limits (setrlimit(2)) for core files, descriptors and the size of
 * files, and then executes the program in its arguments.
 *
 * @param redirections those of the shell for the program.
 */
export function underLimits(limits: GuestResources, cgroups: Cgroups | null, redirections = ""): string[] {
  const values: Record<string, number> = { c: 0, n: limits.descriptors, f: Math.ceil(limits.tmpBytes / 512) };
  // Only if no control group limits memory: with this limit, a worker thread may not get its code range and fail to start.
  const held = heldBy(cgroups);
  if (!held.memory) values["d"] = Math.ceil((limits.memoryBytes + DATA_HEADROOM_BYTES) / 1_024);
  const steps = Object.entries(values).map(([letter, value]) => `ulimit -${letter} ${value}`);
  const execute = held.cpu ? 'exec "$0" "$@"' : `exec nice -n ${GUEST_NICENESS} "$0" "$@"`;
  return ["/bin/sh", "-c", `${steps.join(" && ")} && ${execute} ${redirections}`.trimEnd()];
}
