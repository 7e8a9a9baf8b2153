import { Problem } from "../errors.ts";
import { refuseFaults } from "../members.ts";
import { nextTurn } from "../next-turn.ts";
import type { Lock } from "../packages/model.ts";
import type { Ranges } from "../packages/names.ts";
import { Caller } from "../tokens/caller.ts";
import { claimsOf } from "../tokens/payload.ts";
import type { Secrets } from "../tokens/secrets/vault.ts";
import type { Tokens } from "../tokens/token-service.ts";
import { hasExpired } from "../tokens/token-state.ts";
import { changesNothing } from "./changes.ts";
import { codeOfChange } from "./code-of-change.ts";
import {
  type Before,
  type Definition,
  definitionOf,
  type TaskChange,
  type TaskRef,
  taskPayload,
} from "./definition.ts";
import { membersOf } from "./members-of-version.ts";
import { nearTask, noSuchTask, noSuchVersion } from "./not-found.ts";
import { OpenChanges, type Progress } from "./open-changes.ts";
import type { StoredVersion, TaskStore } from "./store.ts";
import { type TaskCode, unpacked } from "./task-code.ts";
import { hasPackages, lockOfTask, packagesOfTask, type TaskPackages, type WantedPackages } from "./task-packages.ts";
import { TaskReader } from "./task-reader.ts";
import { type ReadTask, readTaskRequest, TASK, type TaskMembers } from "./task-request.ts";
import { droppedSecrets, overridingSecrets, oversizedSecrets } from "./task-secrets.ts";
import { type TaskBounds, TaskWriter } from "./task-writer.ts";
import type { Task } from "./task.ts";

export interface TasksOptions extends TaskBounds {
  /** The most bytes of a task's code. */
  readonly codeLimit: number;
  readonly packages: TaskPackages;
  /** Counts one change of a task against the rate. @throws {Problem} `token_limited`, `store_unavailable` */
  readonly admitIssue: (by: Caller) => Promise<void>;
  /** The clock, in Unix milliseconds. */
  readonly nowMs?: () => number;
}

/** A condition on the etag of the existing task; null if there is no task. */
export type Condition = (etag: string | null) => void;

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

/** The effect of a PUT on a task. */
export type Change = "made" | "changed" | "none";

/** A task after a PUT. */
export interface Changed {
  readonly task: Task;
  readonly change: Change;
  /** The names of the secrets that the change has removed. */
  readonly dropped: readonly string[];
}

/** Checks the code of a request before it is stored. */
export type CodeCheck = (code: TaskCode, lock: Lock | null) => Promise<void>;

/** How often a change is tried again when another caller changes the task at the same time. */
const ATTEMPTS = 10;

/** The named tasks: code, and the token that it runs under. */
export class Tasks {
  readonly #store: TaskStore;
  readonly #tokens: Tokens;
  readonly #options: TasksOptions;
  readonly #nowMs: () => number;
  readonly #open = new OpenChanges();
  readonly #reader: TaskReader;
  readonly #writer: TaskWriter;

  constructor(store: TaskStore, tokens: Tokens, options: TasksOptions) {
    this.#store = store;
    this.#tokens = tokens;
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#reader = new TaskReader(store, tokens.store);
    this.#writer = new TaskWriter(store, tokens, options, this.#nowMs);
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
    return await this.#change(at, read, by, { condition, mayBeUnchanged: true, check, progress });
  }

  /**
   * Makes the task that `put` would publish, and publishes nothing.
   *
   * @returns the token that the task would run under, its code (null if it is fetched), and the secrets in the request.
   * @throws {Problem} as `put`
   */
  async draft(at: TaskRef, input: unknown, by: Caller, condition: Condition): Promise<DraftTask> {
    const read = readTaskRequest(input, this.#options.codeLimit);
    const { definition, before, wanted } = await this.#define(at, read, by, condition);
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
    return (await this.#change(at, read, by, { condition, mayBeUnchanged: false, kept: before.lock, progress })).task;
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
      if (!(await this.#store.remove(at.container, at.name, before.etag))) continue;
      this.#open.deleted(at);
      this.#options.packages.pin(before, null);
      await this.#writer.retire(before, by);
      return before;
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

  async #change(at: TaskRef, read: ReadTask, by: Caller, how: ChangeOptions): Promise<Changed> {
    const { condition, mayBeUnchanged, kept = null, check, progress } = how;
    const open = this.#open.begin(at, progress);
    let isCounted = false;
    let checked: string | null = null;
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const { definition, change, before, wanted } = await this.#define(at, read, by, condition, kept);
        const { newest, active } = before;
        const isSame = active !== null && mayBeUnchanged && changesNothing(change, active);
        if (isSame && hasPackages(active, wanted)) return { task: active, change: "none", dropped: [] };
        // Each change writes up to the code limit to disk, and each new task leaves a token in the store. Counted before the
        // check, because the check occupies a guest: code with a fault would otherwise be parsed without any limit.
        if (!isCounted) await this.#options.admitIssue(by);
        isCounted = true;
        const lock = wanted && (await this.#lock(wanted, by, progress));
        const isGiven = isCodeGiven(read.members) || wanted !== null || active?.lock != null;
        if (check && change.code && change.sha256Of !== checked && isGiven) await check(change.code, lock);
        checked = change.sha256Of;
        if (isSame && lock?.key === active.lock?.key) return { task: active, change: "none", dropped: [] };
        const dropped = await droppedSecrets(this.#tokens.vault, definition, active, by.claims);
        this.#requireValid(by);
        open.attempt(newest?.etag ?? null);
        const record = await this.#writer.write(at, definition, lock, before, by);
        if (record === null) continue;
        const task = this.#reader.parsed(record);
        open.stored(task.etag);
        this.#options.packages.pin(at, lock);
        return { task, change: newest ? "changed" : "made", dropped };
      }
      throw contended();
    } finally {
      open.end();
    }
  }

  /**
   * Requires that the calling token is valid: a build may take minutes, and in that time the token may be revoked or expire. The token
   * of the task would be below it, and the task would have ended with its new version.
   */
  #requireValid(by: Caller): void {
    const { verifier } = this.#tokens;
    const state = verifier.stateOf(by);
    if (state !== "valid") throw verifier.problem(state, by);
  }

  /** Computes the task after a change, and checks it. @throws {Problem} with all faults */
  async #define(
    at: TaskRef,
    read: ReadTask,
    by: Caller,
    condition: Condition,
    kept: Lock | null = null,
  ): Promise<Defined> {
    const { vault } = this.#tokens;
    const newest = await this.find(at.container, at.name);
    condition(newest?.etag ?? null);
    const active = newest && this.#tokens.verifier.stateOf(newest.caller) === "valid" ? newest : null;
    const codeOf = (task: Task): Promise<TaskCode> => this.codeOf(task, by.family);
    const change = await codeOfChange(read, active, codeOf, this.#options.codeLimit, by.family);
    const before = { newest, active };
    const definition = definitionOf(at, change, before, by.claims, this.#nowMs());
    const overriding = by.claims.admin ? [] : await overridingSecrets(vault, definition, active, by.claims);
    const tooLarge = await oversizedSecrets(vault, definition, active, by.claims);
    refuseFaults(TASK, {
      invalid: [...definition.invalid, ...tooLarge],
      exceeding: [...definition.exceeding, ...overriding],
    });
    const { code, packages: ranges, update, request } = definition;
    const texts = { code, ranges, update, claim: request.packages };
    const wanted = packagesOfTask(texts, active, kept, this.#options.packages);
    return { definition, change, before, wanted };
  }

  /** Builds the packages of a task that is about to be stored. */
  async #lock(wanted: WantedPackages, by: Caller, progress: Progress): Promise<Lock> {
    progress.isBuilding = true;
    try {
      return await lockOfTask(wanted, by, this.#options.packages);
    } finally {
      progress.isBuilding = false;
    }
  }
}

interface ChangeOptions {
  readonly condition: Condition;
  /** Whether a change that changes nothing leaves the task as it is. */
  readonly mayBeUnchanged: boolean;
  /** The lock of the version to which the task is rolled back. */
  readonly kept?: Lock | null;
  readonly check?: CodeCheck | undefined;
  readonly progress: Progress;
}

/** A task after a change that is not stored yet. */
interface Defined {
  readonly definition: Definition;
  readonly change: TaskChange;
  readonly before: Before;
  readonly wanted: WantedPackages | null;
}

function isCodeGiven(members: TaskMembers): boolean {
  return members.code !== undefined || members.modules !== undefined || members.typescript !== undefined;
}

function contended(): Problem {
  return new Problem("overloaded", "other callers keep changing the task", { retryAfterMs: 1_000 });
}
