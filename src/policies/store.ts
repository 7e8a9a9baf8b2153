import type { Labels } from "../labels.ts";
import type { Limits } from "../limits/windows.ts";

/** The settings of an administrator for a container. */
export interface ContainerPolicy {
  /** The limits in addition to the limits of the service and of tokens. The lowest limit applies. */
  readonly limits: Limits;
  readonly labels: Labels;
  readonly description: string | null;
  /** Null if the container takes runs. */
  readonly suspended: Suspension | null;
}

/** A container that takes no run. */
export interface Suspension {
  /** Unix milliseconds. */
  readonly at: number;
  /** The `jti` of the token that suspended it. */
  readonly by: string;
  /** Whether its runs in flight end too. */
  readonly endsRuns: boolean;
}

/** The policy of a container without settings. */
export const NO_POLICY: ContainerPolicy = Object.freeze({
  limits: Object.freeze({}),
  labels: Object.freeze({}),
  description: null,
  suspended: null,
});

/** Whether a container is included in a list. */
export type PolicyFilter = (container: string, policy: ContainerPolicy) => boolean;

/** Computes the policy after a change. It returns the same object if nothing changes. It may be called again. */
export type PolicyChange = (before: ContainerPolicy) => ContainerPolicy;

/** Stores the policies of containers. Every store passes the same conformance suite. */
export interface PolicyStore {
  /**
   * Returns the policy of a container, always the same object until the policy changes. It answers from memory, because
   * it is called for each run.
   *
   * @throws {Problem} `store_unavailable` if the changes of other nodes are unknown. Then no run may start.
   */
  get(container: string): ContainerPolicy | undefined;
  /**
   * Changes the policy of a container, so that no change of another node is lost. The policy applies and is durable when
   * the promise resolves. A policy that sets nothing is removed.
   *
   * @param by the `jti` of the caller's token, or a description of the caller.
   * @returns the policy before and after.
   * @throws the error of `change`, or {Problem} `store_unavailable` if it cannot be stored. Then nothing has changed.
   */
  change(
    container: string,
    change: PolicyChange,
    by: string,
  ): Promise<{ readonly before: ContainerPolicy; readonly after: ContainerPolicy }>;
  /**
   * Returns the first `count` containers after `after` that have a policy, sorted by UTF-16 code units. There may be thousands, so it
   * looks at them in slices.
   *
   * @param filter whether a container is included; without it, all are included
   * @param holder the `holder` argument of `nextTurn`
   */
  containers(after: string, count: number, filter?: PolicyFilter, holder?: string): Promise<string[]>;
  /** Calls each listener after a suspended container has changed, on this node or another. It may be called again. */
  onSuspended(listener: (container: string, suspension: Suspension) => void): void;
  close(): Promise<void> | void;
}
