import type { Limits } from "../limits/windows.ts";

/** What an administrator has set for a container. */
export interface ContainerPolicy {
  /** Beside the server's own and those of tokens; the smallest is in force. */
  readonly limits: Limits;
}

/** Of a container for which nothing was set. */
export const NO_POLICY: ContainerPolicy = Object.freeze({ limits: Object.freeze({}) });

/** Where the policies of containers are kept. Every store passes the one conformance suite. */
export interface PolicyStore {
  /**
   * What is set for a container: always the same object until it is set anew. Asked at each run, so it answers from
   * memory.
   *
   * @throws {Problem} `store_unavailable` when it cannot know what others have set: then nothing may run.
   */
  get(container: string): ContainerPolicy | undefined;
  /**
   * Sets the policy of a container, in place of what was set: in force, and kept for good, when this resolves.
   *
   * @param setBy the `jti` of who asks, or words for what does.
   * @throws {Problem} `store_unavailable` when it cannot be kept: then nothing has changed.
   */
  set(container: string, policy: ContainerPolicy, setBy: string): Promise<void>;
  /** As `set`, with nothing. @returns whether anything was set. */
  remove(container: string): Promise<boolean>;
  /** The first `count` containers after `after` that have a policy, by the UTF-16 code units of their names. */
  containers(after: string, count: number): string[];
  close(): Promise<void> | void;
}
