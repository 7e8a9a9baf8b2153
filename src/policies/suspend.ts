import type { ContainerPolicy, PolicyChange } from "./store.ts";

/**
 * Returns the change that suspends a container. A container that is suspended stays as it is, unless its runs in flight
 * end too from now on.
 *
 * @param by the `jti` of the caller's token
 */
export function suspend(by: string, endsRuns: boolean, nowMs: number): PolicyChange {
  return (before) => {
    if (before.suspended && (before.suspended.endsRuns || !endsRuns)) return before;
    return withSuspended(before, Object.freeze({ at: nowMs, by, endsRuns }));
  };
}

/** The change that lets a container take runs again. */
export const resume: PolicyChange = (before) => (before.suspended ? withSuspended(before, null) : before);

function withSuspended(before: ContainerPolicy, suspended: ContainerPolicy["suspended"]): ContainerPolicy {
  return Object.freeze({ ...before, suspended });
}
