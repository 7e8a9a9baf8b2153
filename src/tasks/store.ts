/** One version of a named task, as it is kept. */
export interface StoredVersion {
  readonly version: number;
  /** Another text for each write, also after a task was deleted and made anew. */
  readonly etag: string;
  /** What there is to know of it but its code, as JSON. */
  readonly record: string;
  /** Of its own, or null where it is fetched. */
  readonly code: string | null;
}

/** How many versions of a task are kept, the newest among them. */
export const KEPT_VERSIONS = 10;

/** How much may be kept. */
export interface TaskRoom {
  /** Tasks of the container. */
  readonly containerTasks: number;
  /** The family of the token that puts the task, to which all of it counts from then on; null for an administrator. */
  readonly family: string | null;
  /** Tasks of the family, in all containers. */
  readonly familyTasks: number;
  /** The code and the records of these, with all versions that are kept. */
  readonly familyBytes: number;
}

/**
 * `changed` when another version is the newest; else the number of the room that the change would exceed. Then nothing has
 * changed.
 */
export type PutOutcome = "kept" | "changed" | "containerTasks" | "familyTasks" | "familyBytes";

/** Where named tasks are kept. Every method throws {Problem} `store_unavailable` when it cannot do what it says. */
export interface TaskStore {
  /** The record of the newest version, or null when there is no such task. Asked at each run. */
  newest(container: string, name: string): Promise<string | null> | string | null;
  /** One version, or null. */
  version(container: string, name: string, version: number): Promise<StoredVersion | null> | StoredVersion | null;
  /** The records of those that are kept, newest first. */
  versions(container: string, name: string): Promise<string[]> | string[];
  /**
   * Keeps a newer version, and forgets the oldest of those that are too many.
   *
   * @param after the etag of the newest now, or null when there must be none.
   * @param room what a task that is new to the container or the family, or grows, has to fit in.
   */
  put(
    container: string,
    name: string,
    added: StoredVersion,
    after: string | null,
    room: TaskRoom,
  ): Promise<PutOutcome> | PutOutcome;
  /** Forgets a task with all its versions, as `put` under a condition. */
  remove(container: string, name: string, etag: string): Promise<boolean> | boolean;
  /** The newest records of the container's tasks after a name, the first `count` by the bytes of their names. */
  list(container: string, after: string, count: number): Promise<string[]> | string[];
  close(): void;
}
