import type { Limits } from "../limits/windows.ts";

/** The settings of an administrator for a container. */
export interface ContainerPolicy {
  /** The limits in addition to the limits of the service and of tokens. The lowest limit applies. */
  readonly limits: Limits;
}

/** The policy of a container without settings. */
export const NO_POLICY: ContainerPolicy = Object.freeze({ limits: Object.freeze({}) });

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
   * Replaces the policy of a container. The policy applies and is durable when the promise resolves.
   *
   * @param setBy the `jti` of the caller's token, or a description of the caller.
   * @throws {Problem} `store_unavailable` if it cannot be stored. Then nothing has changed.
   */
  set(container: string, policy: ContainerPolicy, setBy: string): Promise<void>;
  /** Removes the policy of a container. @returns whether it had a policy. */
  remove(container: string): Promise<boolean>;
  /**
   * Returns the first `count` containers after `after` that have a policy, sorted by UTF-16 code units.
   *
   * @param filter whether a container is included; without it, all are included
   */
  containers(after: string, count: number, filter?: (container: string) => boolean): string[];
  close(): Promise<void> | void;
}
