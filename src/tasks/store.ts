/** One stored version of a named task. */
export interface StoredVersion {
  readonly version: number;
  /** A text that differs for each write, even after a task was deleted and created again. */
  readonly etag: string;
  /** Everything about the version except its code, as JSON. */
  readonly record: string;
  /** The code of the task, or null if it is fetched. */
  readonly code: string | null;
}

/** The maximum number of stored versions of a task, including the newest. */
export const MAX_VERSIONS = 10;

/** The limits of stored tasks. */
export interface TaskRoom {
  /** The maximum number of tasks in the container. */
  readonly containerTasks: number;
  /** The family of the token that puts the task. The whole task counts against it from then on. Null for an administrator. */
  readonly family: string | null;
  /** The maximum number of tasks of the family, in all containers. */
  readonly familyTasks: number;
  /** The maximum bytes of their code and records, with all stored versions. */
  readonly familyBytes: number;
}

/**
 * The outcome of a put: `stored`, `changed` if another version is the newest, or the limit that the change would exceed. Nothing
 * changes unless it is `stored`.
 */
export type PutOutcome = "stored" | "changed" | "containerTasks" | "familyTasks" | "familyBytes";

/** A store of named tasks. Every method throws {Problem} `store_unavailable` when the store fails. */
export interface TaskStore {
  /** Returns the record of the newest version, or null if the task does not exist. Called at each run. */
  newest(container: string, name: string): Promise<string | null> | string | null;
  /** Returns one version, or null. */
  version(container: string, name: string, version: number): Promise<StoredVersion | null> | StoredVersion | null;
  /** Returns the records of the stored versions, newest first. */
  versions(container: string, name: string): Promise<string[]> | string[];
  /**
   * Stores a newer version, and deletes the oldest if there are too many.
   *
   * @param after the etag of the newest version now, or null if there must be none
   * @param room the limits for a task that grows, or that is new to the container or the family
   */
  put(
    container: string,
    name: string,
    added: StoredVersion,
    after: string | null,
    room: TaskRoom,
  ): Promise<PutOutcome> | PutOutcome;
  /** Deletes a task with all its versions if the etag is its newest. Returns whether it did. */
  remove(container: string, name: string, etag: string): Promise<boolean> | boolean;
  /** Returns the newest records of the container's tasks: the first `count` after a name, ordered by the bytes of their names. */
  list(container: string, after: string, count: number): Promise<string[]> | string[];
  /** Returns the names of the container's tasks, at most `count` of them, in no certain order. */
  names(container: string, count: number): Promise<string[]> | string[];
  /** Keeps a note of a change until it is deleted, also if the service is killed. @param nowMs Unix milliseconds */
  keepNote(id: string, note: string, nowMs: number): Promise<void> | void;
  deleteNote(id: string): Promise<void> | void;
  /** Returns the notes by id whose service was killed, so that it does not make the change any more. Called at the start. */
  killedNotes(nowMs: number): Promise<ReadonlyMap<string, string>> | ReadonlyMap<string, string>;
  close(): void;
}
