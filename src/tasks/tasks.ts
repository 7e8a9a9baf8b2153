import type { Problem } from "../errors.ts";
import { nextTurn } from "../next-turn.ts";
import type { Lock } from "../packages/model.ts";
import type { Ranges } from "../packages/names.ts";
import { Caller } from "../tokens/caller.ts";
import { claimsOf } from "../tokens/payload.ts";
import type { Secrets } from "../tokens/secrets/vault.ts";
import type { Tokens } from "../tokens/token-service.ts";
import { hasExpired } from "../tokens/token-state.ts";
import { type TaskRef, taskPayload } from "./definition.ts";
import { membersOf } from "./members-of-version.ts";
import { nearTask, noSuchTask, noSuchVersion } from "./not-found.ts";
import { OpenChanges, type Progress } from "./open-changes.ts";
import type { StoredVersion, TaskStore } from "./store.ts";
import {
  ATTEMPTS,
  type Changed,
  type CodeCheck,
  type Condition,
  contended,
  TaskChanger,
  type TasksOptions,
} from "./task-changer.ts";
import { type TaskCode, unpacked } from "./task-code.ts";
import { TaskReader } from "./task-reader.ts";
import { readTaskRequest } from "./task-request.ts";
import { TaskWriter } from "./task-writer.ts";
import type { Task } from "./task.ts";

/** A task that is not published. */
export interface DraftTask extends TaskRef {
  /** The token that the task would run under. It is not stored. */
  readonly caller: Caller;
  /** Null if the code is fetched. */
  readonly code: TaskCode | null;
  /** The packages that the request or the task names outside of the texts, or null. */
  readonly ranges: Ranges | null;
  /** The lock of the task, or null. */
  readonly from: Lock | null;
  /** The secrets in the request, and no others. */
  readonly secrets: Secrets;
}

/** The named tasks: code, and the token that it runs under. */
export class Tasks {
  readonly #store: TaskStore;
  readonly #tokens: Tokens;
  readonly #options: TasksOptions;
  readonly #nowMs: () => number;
  readonly #open = new OpenChanges();
  readonly #reader: TaskReader;
  readonly #writer: TaskWriter;
  readonly #changer: TaskChanger;

  /** Opens the tasks, and deletes what a killed service has left behind. */
  static async open(store: TaskStore, tokens: Tokens, options: TasksOptions): Promise<Tasks> {
    const tasks = new Tasks(store, tokens, options);
    try {
      await tasks.#writer.endKilled(({ container, name }) => tasks.find(container, name));
    } catch {
      // Nothing uses what is left, so the service starts. The next start tries again.
    }
    return tasks;
  }

  constructor(store: TaskStore, tokens: Tokens, options: TasksOptions) {
    this.#store = store;
    this.#tokens = tokens;
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#reader = new TaskReader(store, tokens.store);
    this.#writer = new TaskWriter(store, tokens, options, this.#nowMs);
    const [reader, writer, open, nowMs] = [this.#reader, this.#writer, this.#open, this.#nowMs];
    this.#changer = new TaskChanger({ tokens, options, reader, writer, open, nowMs });
  }

  /** Returns the current task, or null: at once if the store is local and the record small. @throws {Problem} `store_unavailable` */
  find(container: string, name: string): Task | null | Promise<Task | null> {
    return this.#reader.find(container, name);
  }

  /**
   * Returns the code that is stored with the task. The same code is the same object as long as it is in memory. Other code is
   * read in a turn of the event loop.
   *
   * @param holder the `holder` argument of `nextTurn`
   * @throws {Problem} `not_found` when it was deleted in the meantime.
   */
  codeOf(task: Task, holder: string): Promise<TaskCode> {
    return this.#reader.codeOf(task, holder);
  }

  /** Returns the names of the secrets of a task, or null if they cannot be read now. */
  async secretNames(task: Task): Promise<readonly string[] | null> {
    try {
      return Object.keys(await this.#tokens.vault.own(task.owner));
    } catch {
      return null;
    }
  }

  /**
   * Creates a task, or changes the members of the request and keeps the rest. Secrets are deleted if their code changes. A task
   * whose token has ended is created again. A task stays below its token if nothing changes.
   *
   * @param progress shows the build, and takes that the client has its answer
   * @throws {Problem} `request_invalid` with all faults, `token_forbidden` if the only faults are excesses over the calling token,
   * `quota_exceeded`, `token_limited`, `precondition_failed`, `store_unavailable`, and the errors of `check`.
   */
  async put(
    at: TaskRef,
    input: unknown,
    by: Caller,
    condition: Condition,
    check?: CodeCheck,
    progress: Progress = { isBuilding: false, isAnswered: false },
  ): Promise<Changed> {
    const read = readTaskRequest(input, this.#options.codeLimit);
    return await this.#changer.change(at, read, by, { condition, mayBeUnchanged: true, check, progress });
  }

  /**
   * Makes the task that `put` would publish, and publishes nothing.
   *
   * @returns the token that the task would run under, its code (null if it is fetched), and the secrets in the request.
   * @throws {Problem} as `put`
   */
  async draft(at: TaskRef, input: unknown, by: Caller, condition: Condition): Promise<DraftTask> {
    const read = readTaskRequest(input, this.#options.codeLimit);
    const { definition, before, wanted } = await this.#changer.define(at, read, by, condition);
    const payload = taskPayload(at, definition, before.active, by.claims, this.#nowMs());
    const caller = new Caller(claimsOf(payload), null, [], this.#tokens.store);
    const { code, packages: ranges, update, secrets } = definition;
    const from = update.length === 0 ? (wanted?.from ?? null) : null;
    return { ...at, caller, code, ranges, from, secrets: secrets ?? {} };
  }

  /** Makes a version the newest again. @throws {Problem} as `put`, and `not_found` when the version is not stored. */
  async rollBack(at: TaskRef, version: number, secrets: unknown, by: Caller, condition: Condition): Promise<Task> {
    const stored = await this.#stored(at, version);
    const before = this.#reader.parsed(stored.record);
    const members = membersOf(before, stored.code, by.claims);
    // The members are checked like a new request, because they may exceed the limits of today.
    const read = readTaskRequest(secrets === undefined ? members : { ...members, secrets }, this.#options.codeLimit);
    const progress = { isBuilding: false, isAnswered: false };
    return (await this.#changer.change(at, read, by, { condition, mayBeUnchanged: false, kept: before.lock, progress }))
      .task;
  }

  /** Returns a stored version with its code, which is null if it is fetched. @throws {Problem} `not_found` */
  async version(at: TaskRef, version: number, by: Caller): Promise<{ task: Task; code: TaskCode | null }> {
    const { record, code } = await this.#stored(at, version);
    await nextTurn(by.family);
    const task = this.#reader.parsed(record);
    return { task, code: code === null ? null : unpacked(code, task.packed) };
  }

  /**
   * Yields the stored versions, newest first, each in a turn of the event loop. A version with the maximum of params takes
   * milliseconds and megabytes, so the caller must not keep them.
   */
  async *versions({ container, name }: TaskRef, by: Caller): AsyncGenerator<Task> {
    for (const record of await this.#store.versions(container, name)) {
      await nextTurn(by.family);
      yield this.#reader.parsed(record);
    }
  }

  async list(container: string, after: string, count: number): Promise<Task[]> {
    return (await this.#store.list(container, after, count)).map((record) => this.#reader.parsed(record));
  }

  /** Whether the packages of a task are built, after which it will be published. */
  isBuilding(at: TaskRef): boolean {
    return this.#open.isBuilding(at);
  }

  /** Returns how the token of a task has ended. Both may be true. @throws {Problem} `store_unavailable` when that is unknown. */
  endOf({ caller }: Task): { expired: boolean; revoked: boolean } {
    const expired = hasExpired(caller.claims, this.#nowMs());
    return { expired, revoked: this.#tokens.verifier.stateOf(caller, "none") !== "valid" };
  }

  /** Returns the name of the task that a wrong name probably means, or null. Only for callers that may list the tasks. */
  near({ container, name }: TaskRef): Promise<string | null> {
    return nearTask(this.#store, container, name);
  }

  /** Returns the problem of a task that does not exist, for a caller that may list the tasks. */
  async missing(at: TaskRef): Promise<Problem> {
    return noSuchTask(await this.near(at));
  }

  /**
   * Ends a task, its token and its secrets. A change whose client has its answer, and whose packages are still being built, is not
   * published afterwards, also if it would have created the task.
   *
   * @throws {Problem} `not_found`, `precondition_failed`, `store_unavailable`
   */
  async remove(at: TaskRef, by: Caller, condition: Condition): Promise<Task> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const before = await this.find(at.container, at.name);
      condition(before?.etag ?? null);
      if (!before) {
        this.#open.deleted(at);
        throw await this.missing(at);
      }
      const onRemoved = async (): Promise<void> => {
        this.#open.deleted(at);
        await this.#options.packages.pin(before, null);
      };
      if (await this.#writer.remove(before, by, onRemoved)) return before;
    }
    throw contended();
  }

  close(): void {
    this.#store.close();
  }

  /** @throws {Problem} `not_found` */
  async #stored(at: TaskRef, version: number): Promise<StoredVersion> {
    const stored = await this.#store.version(at.container, at.name, version);
    if (!stored) throw (await this.find(at.container, at.name)) ? noSuchVersion() : await this.missing(at);
    return stored;
  }
}
