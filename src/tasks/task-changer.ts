import { Problem } from "../errors.ts";
import { refuseFaults } from "../members.ts";
import type { Lock } from "../packages/model.ts";
import type { Caller } from "../tokens/caller.ts";
import type { Tokens } from "../tokens/token-service.ts";
import { changesNothing } from "./changes.ts";
import { codeOfChange } from "./code-of-change.ts";
import { type Before, type Definition, definitionOf, type TaskChange, type TaskRef } from "./definition.ts";
import type { OpenChanges, Progress } from "./open-changes.ts";
import type { TaskCode } from "./task-code.ts";
import { hasPackages, lockOfTask, packagesOfTask, type TaskPackages, type WantedPackages } from "./task-packages.ts";
import type { TaskReader } from "./task-reader.ts";
import { type ReadTask, TASK, type TaskMembers } from "./task-request.ts";
import { droppedSecrets, overridingSecrets, oversizedSecrets } from "./task-secrets.ts";
import type { TaskBounds, TaskWriter } from "./task-writer.ts";
import type { Task } from "./task.ts";
import { WaitingChanges } from "./waiting-changes.ts";

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
export const ATTEMPTS = 10;

/** What a change uses of the tasks. */
interface TaskParts {
  readonly tokens: Tokens;
  readonly options: TasksOptions;
  readonly reader: TaskReader;
  readonly writer: TaskWriter;
  readonly open: OpenChanges;
  /** The clock, in Unix milliseconds. */
  readonly nowMs: () => number;
}

/** Changes one task: computes its next version, builds its packages, and stores it unless another change came first. */
export class TaskChanger {
  readonly #waiting = new WaitingChanges();
  readonly #tokens: Tokens;
  readonly #options: TasksOptions;
  readonly #reader: TaskReader;
  readonly #writer: TaskWriter;
  readonly #open: OpenChanges;
  readonly #nowMs: () => number;

  constructor({ tokens, options, reader, writer, open, nowMs }: TaskParts) {
    this.#tokens = tokens;
    this.#options = options;
    this.#reader = reader;
    this.#writer = writer;
    this.#open = open;
    this.#nowMs = nowMs;
  }

  /** Changes a task. @throws {Problem} as `Tasks.put` */
  async change(at: TaskRef, read: ReadTask, by: Caller, how: ChangeOptions): Promise<Changed> {
    const { condition, mayBeUnchanged, kept = null, check, progress } = how;
    const open = this.#open.begin(at, progress);
    let isCounted = false;
    let checked: string | null = null;
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const { definition, change, before, wanted } = await this.define(at, read, by, condition, kept);
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
        await this.#options.packages.pin(at, lock);
        return { task, change: newest ? "changed" : "made", dropped };
      }
      throw contended();
    } finally {
      open.end();
    }
  }

  /** Computes the task after a change, and checks it. @throws {Problem} with all faults */
  async define(
    at: TaskRef,
    read: ReadTask,
    by: Caller,
    condition: Condition,
    kept: Lock | null = null,
  ): Promise<Defined> {
    const { vault } = this.#tokens;
    const newest = await this.#reader.find(at.container, at.name);
    condition(newest?.etag ?? null);
    const active = newest && this.#tokens.verifier.stateOf(newest.caller) === "valid" ? newest : null;
    const codeOf = (task: Task): Promise<TaskCode> => this.#reader.codeOf(task, by.family);
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
    const wanted = await packagesOfTask(texts, active, kept, this.#options.packages, by.family);
    return { definition, change, before, wanted };
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

  /** Builds the packages of a task that is about to be stored. */
  async #lock(wanted: WantedPackages, by: Caller, progress: Progress): Promise<Lock> {
    progress.isBuilding = true;
    let isWaiting = false;
    const onWait = (): void => {
      this.#waiting.enter(by.family);
      isWaiting = true;
    };
    try {
      return await lockOfTask(wanted, by, this.#options.packages, onWait);
    } finally {
      if (isWaiting) this.#waiting.leave(by.family);
      progress.isBuilding = false;
    }
  }
}

export interface ChangeOptions {
  readonly condition: Condition;
  /** Whether a change that changes nothing leaves the task as it is. */
  readonly mayBeUnchanged: boolean;
  /** The lock of the version to which the task is rolled back. */
  readonly kept?: Lock | null;
  readonly check?: CodeCheck | undefined;
  readonly progress: Progress;
}

/** A task after a change that is not stored yet. */
export interface Defined {
  readonly definition: Definition;
  readonly change: TaskChange;
  readonly before: Before;
  readonly wanted: WantedPackages | null;
}

function isCodeGiven(members: TaskMembers): boolean {
  return members.code !== undefined || members.modules !== undefined || members.typescript !== undefined;
}

export function contended(): Problem {
  return new Problem("overloaded", "other callers keep changing the task", { retryAfterMs: 1_000 });
}
