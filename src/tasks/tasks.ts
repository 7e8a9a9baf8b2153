import { createHash, randomBytes, randomUUID } from "node:crypto";

import { Problem } from "../errors.ts";
import { type MemberFault, refuseFaults } from "../members.ts";
import { nextTurn } from "../next-turn.ts";
import type { Caller } from "../tokens/caller.ts";
import type { Claims } from "../tokens/claims.ts";
import { claimsOf } from "../tokens/payload.ts";
import type { Secrets } from "../tokens/secrets/vault.ts";
import type { Tokens } from "../tokens/token-service.ts";
import { hasExpired } from "../tokens/token-state.ts";
import { ByteCache } from "./byte-cache.ts";
import { changesNothing, stayingSecrets } from "./changes.ts";
import {
  type Before,
  type Definition,
  definitionOf,
  type Given,
  limitsToKeep,
  type TaskRef,
  taskPayload,
} from "./definition.ts";
import { full } from "./room.ts";
import type { StoredVersion, TaskRoom, TaskStore } from "./store.ts";
import { type ReadTask, readTaskRequest, TASK } from "./task-request.ts";
import { ownerOf, pinOf, type Task, taskOf, type TaskRecord } from "./task.ts";

export interface TasksOptions {
  /** The most bytes of a task's code. */
  readonly codeLimit: number;
  /** The most tasks of a container. */
  readonly containerTasks: number;
  /** The most tasks of a family of tokens, and the most bytes of them with their versions. */
  readonly familyTasks: number;
  readonly familyTaskBytes: number;
  /** Counts one more change of a task. @throws {Problem} `token_limited`, `store_unavailable` */
  readonly admitIssue: (by: Caller) => Promise<void>;
  /** The clock, in Unix milliseconds. */
  readonly nowMs?: () => number;
}

/** Whether what is there now, by its etag, or null for nothing, may be changed. */
export type Condition = (etag: string | null) => boolean;

/** What a PUT did to a task. */
export type Change = "made" | "changed" | "none";

/** Looks at code that somebody sent, before it is kept. */
export type CodeCheck = (code: string) => Promise<void>;

/** Of the code of tasks that run, so that it is not read at each run. */
const CODE_BYTES = 32 * 2 ** 20;
/** Of tasks that were read: somebody may have many, each with params of tens of kilobytes. */
const READ_BYTES = 32 * 2 ** 20;
/** Of a task for each character of its record: of the text, and as much again of what was read of it. */
const BYTES_PER_CHAR = 4;
/** Of a task with many params. Strangers may ask for many such tasks at once, if they are public. */
const BIG_RECORD_CHARS = 8_192;
/** Takes the turns of records, whose family is known only after they were read. */
const RECORDS = "records";
/** Others may change a task between the look at it and the change: so often it is looked again. */
const ATTEMPTS = 10;

/** The named tasks: code with the token that it runs under. */
export class Tasks {
  readonly #store: TaskStore;
  readonly #tokens: Tokens;
  readonly #options: TasksOptions;
  readonly #nowMs: () => number;
  /** By digest: what is the same is kept once. */
  readonly #codes = new ByteCache<Buffer>(CODE_BYTES);
  /** By their records: as long as a task is the same, so is its caller, which keeps what is derived from its token. */
  readonly #read = new ByteCache<Task>(READ_BYTES);

  constructor(store: TaskStore, tokens: Tokens, options: TasksOptions) {
    this.#store = store;
    this.#tokens = tokens;
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
  }

  /** The task as it is now, or null; at once where it is kept here. @throws {Problem} `store_unavailable` */
  find(container: string, name: string): Task | null | Promise<Task | null> {
    const found = this.#store.newest(container, name);
    return found instanceof Promise ? found.then((record) => this.#readRecord(record)) : this.#readRecord(found);
  }

  /** Reads a record, at once unless that takes some milliseconds: then in a turn that no other such record gets. */
  #readRecord(record: string | null): Task | null | Promise<Task | null> {
    if (record === null) return null;
    if (record.length <= BIG_RECORD_CHARS || this.#read.get(record)) return this.#taskOf(record);
    return nextTurn(RECORDS).then(() => this.#taskOf(record));
  }

  /** The code that is kept with the task. @throws {Problem} `not_found` when it has gone meanwhile. */
  async codeOf(task: Task): Promise<Buffer> {
    const digest = pinOf(task).sha256!;
    const known = this.#codes.get(digest);
    if (known) return known;
    const stored = await this.#store.version(task.container, task.name, task.version);
    if (typeof stored?.code !== "string") throw new Problem("not_found", "the task was changed or deleted meanwhile");
    const code = Buffer.from(stored.code);
    return this.#codes.add(digest, code, code.length, task.caller.family);
  }

  /**
   * Makes a task, or changes what is said of it and keeps the rest; only secrets go with the code that they were for. One
   * whose token has ended is made anew; where nothing changes it stays whose it is.
   *
   * @throws {Problem} `request_invalid` with all that is wrong, `token_forbidden` where that is only what is more than the
   * token that asks has, `quota_exceeded`, `token_limited`, `precondition_failed`, `store_unavailable`, and what the check of
   * other code throws.
   */
  async put(
    at: TaskRef,
    input: unknown,
    by: Caller,
    condition: Condition,
    check?: CodeCheck,
  ): Promise<{ task: Task; change: Change }> {
    return await this.#change(at, readTaskRequest(input, this.#options.codeLimit), by, {
      condition,
      mayStay: true,
      check,
    });
  }

  /** Makes a version the newest again. @throws {Problem} as `put`, and `not_found` when it is not kept. */
  async rollBack(at: TaskRef, version: number, secrets: unknown, by: Caller, condition: Condition): Promise<Task> {
    const stored = await this.#store.version(at.container, at.name, version);
    if (!stored) throw new Problem("not_found", "there is no such version of the task, or not any more");
    const { caller, public: isPublic } = this.#parsed(stored.record);
    const { net, fresh, params, code } = caller.claims;
    const text = stored.code === null ? code : { code: stored.code };
    const said = { ...text, limits: limitsToKeep(caller.claims, by.claims), net, fresh, params, public: isPublic };
    // As if somebody had sent it now: what is too much by now is too much here, too.
    const read = readTaskRequest(secrets === undefined ? said : { ...said, secrets }, this.#options.codeLimit);
    return (await this.#change(at, read, by, { condition, mayStay: false })).task;
  }

  /** Those that are kept, newest first. */
  async versions({ container, name }: TaskRef, by: Caller): Promise<Task[]> {
    const found: Task[] = [];
    for (const record of await this.#store.versions(container, name)) {
      // One with as many params as it may have takes some milliseconds to be read.
      await nextTurn(by.family);
      found.push(this.#parsed(record));
    }
    return found;
  }

  async list(container: string, after: string, count: number): Promise<Task[]> {
    return (await this.#store.list(container, after, count)).map((record) => this.#parsed(record));
  }

  /** How the token of a task has ended. Both may be true. @throws {Problem} `store_unavailable` when that is unknown. */
  endOf({ caller }: Task): { expired: boolean; revoked: boolean } {
    const expired = hasExpired(caller.claims, this.#nowMs());
    return { expired, revoked: this.#tokens.verifier.stateOf(caller, "none") !== "valid" };
  }

  /** Ends a task, its token and its secrets. @throws {Problem} `not_found`, `precondition_failed`, `store_unavailable` */
  async remove({ container, name }: TaskRef, by: Caller, condition: Condition): Promise<Task> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const before = await this.find(container, name);
      mustHold(condition, before);
      if (!before) throw new Problem("not_found", "the container has no task with this name");
      if (!(await this.#store.remove(container, name, before.etag))) continue;
      await this.#retire(before, by);
      return before;
    }
    throw contended();
  }

  close(): void {
    this.#store.close();
  }

  async #change(
    at: TaskRef,
    read: ReadTask,
    by: Caller,
    { condition, mayStay, check }: { condition: Condition; mayStay: boolean; check?: CodeCheck | undefined },
  ): Promise<{ task: Task; change: Change }> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const newest = await this.find(at.container, at.name);
      mustHold(condition, newest);
      const kept = newest && this.#tokens.verifier.stateOf(newest.caller) === "valid" ? newest : null;
      const given = await this.#given(read, kept);
      const definition = definitionOf(at, given, { newest, kept }, by.claims, this.#nowMs());
      const overriding = by.claims.admin ? [] : await this.#overriding(definition, kept, by.claims);
      const tooLarge = await this.#tooLarge(definition, kept, by.claims);
      refuseFaults(TASK, {
        invalid: [...definition.invalid, ...tooLarge],
        exceeding: [...definition.exceeding, ...overriding],
      });
      if (kept && mayStay && changesNothing(given, kept)) return { task: kept, change: "none" };
      if (check && read.members.code !== undefined) await check(read.members.code);
      const task = await this.#write(at, definition, { newest, kept }, by);
      if (task) return { task, change: newest ? "changed" : "made" };
    }
    throw contended();
  }

  async #given({ members, faults }: ReadTask, kept: Task | null): Promise<Given> {
    const isOther = ["code", "url"].some((name) => name in members || faults.some(({ member }) => member === name));
    const code = members.code ?? (!isOther && kept?.inline ? (await this.codeOf(kept)).toString() : null);
    const sha256Of = code === null ? null : createHash("sha256").update(code).digest("hex");
    return { ...members, code, sha256Of, faults };
  }

  /** Also of secrets that stay: below another token they have others above them. */
  async #tooLarge(definition: Definition, kept: Task | null, by: Claims): Promise<MemberFault[]> {
    const { vault } = this.#tokens;
    const staying = stayingSecrets(definition, kept, by);
    const secrets = staying === null ? (definition.secrets ?? {}) : await vault.own(staying.owner);
    return vault.faultsOfSize(by.admin ? null : by, secrets);
  }

  /** What it would be told, and has of a token above it by the same name. */
  async #overriding(definition: Definition, kept: Task | null, by: Claims): Promise<MemberFault[]> {
    const { vault } = this.#tokens;
    const { params } = definition.request;
    const staying = stayingSecrets(definition, kept, by);
    // Where it stays below the same tokens, they were looked at when they were set.
    const isMoved = staying !== null && staying.caller.claims.parents[0] !== by.jti;
    const secrets = isMoved ? await vault.own(staying.owner) : (definition.secrets ?? {});
    return await vault.overriding(by, { secrets, params });
  }

  /** @returns null, and then nothing has changed, when something else was changed first. */
  async #write(at: TaskRef, definition: Definition, { newest, kept }: Before, by: Caller): Promise<Task | null> {
    const payload = taskPayload(at, definition, kept, by.claims, this.#nowMs());
    const claims = claimsOf(payload);
    const { vault, store: registry } = this.#tokens;
    // Each change writes up to the code limit to disk; each new task also leaves a token in the register.
    await this.#options.admitIssue(by);
    const { jti: byJti, admin } = by.claims;
    const kids = admin ? [] : by.kids;
    const staying = stayingSecrets(definition, kept, by.claims);
    const secretsId = await this.#keepSecrets(definition, claims, staying);
    const record: TaskRecord = {
      ...{ ...at, payload, secretsId, public: definition.public, inline: definition.code !== null },
      ...{ version: (newest?.version ?? 0) + 1, etag: randomBytes(9).toString("base64url") },
      ...{ by: byJti, kids, at: this.#nowMs(), secretsBy: staying?.secretsBy ?? chainOf(by.claims) },
    };
    const stored: StoredVersion = { ...record, record: JSON.stringify(record), code: definition.code };
    const { container, name } = at;
    const outcome = await this.#store.put(container, name, stored, newest?.etag ?? null, this.#roomOf(by));
    if (outcome !== "kept") {
      if (secretsId !== kept?.owner.jti) await vault.set(ownerOf(secretsId, claims), {});
      if (outcome !== "changed") throw full(outcome, this.#roomOf(by));
      return null;
    }
    await registry.record(payload, byJti, this.#nowMs(), kids, this.#options.familyTasks);
    if (newest && newest.caller.claims.jti !== claims.jti) await this.#retire(newest, by);
    else if (kept && kept.owner.jti !== secretsId) await vault.set(kept.owner, {});
    return this.#parsed(stored.record);
  }

  #roomOf(by: Caller): TaskRoom {
    const { containerTasks, familyTasks, familyTaskBytes: familyBytes } = this.#options;
    return { containerTasks, family: by.quotaFamily, familyTasks, familyBytes };
  }

  /**
   * Before the code that they are for is in force, and under a name of their own: so neither the old code is ever given the
   * new ones, nor the new code the old.
   *
   * @param staying the task whose secrets stay, or null.
   * @returns what they hang on.
   */
  async #keepSecrets(definition: Definition, claims: Claims, staying: Task | null): Promise<string> {
    const { vault } = this.#tokens;
    if (staying?.caller.claims.jti === claims.jti) {
      // They are forgotten with the token, which may last longer now.
      const mustMove = staying.caller.claims.exp !== claims.exp;
      if (mustMove) await vault.set(ownerOf(staying.owner.jti, claims), await vault.own(staying.owner));
      return staying.owner.jti;
    }
    const secrets: Secrets = staying ? await vault.own(staying.owner) : (definition.secrets ?? {});
    const secretsId = randomUUID();
    if (Object.keys(secrets).length === 0) return secretsId;
    await vault.set(ownerOf(secretsId, claims), secrets);
    return secretsId;
  }

  /** No task stands for its token any more. One without an end would be remembered for ever. */
  async #retire({ caller: { claims } }: Task, by: Caller): Promise<void> {
    await this.#tokens.revoke(claims.jti, by.claims.jti);
    await this.#tokens.store.retire(claims.jti, this.#nowMs());
  }

  #parsed(record: string): Task {
    return taskOf(record, this.#tokens.store);
  }

  #taskOf(record: string): Task {
    const known = this.#read.get(record);
    if (known) return known;
    const task = this.#parsed(record);
    return this.#read.add(record, task, record.length * BYTES_PER_CHAR, task.caller.family);
  }
}

function chainOf(by: Claims): string[] {
  return by.admin ? [] : [by.jti, ...by.parents];
}

function mustHold(condition: Condition, task: Task | null): void {
  if (condition(task?.etag ?? null)) return;
  throw new Problem("precondition_failed", task ? "the ETag of the task does not match If-Match" : "the container has no task with this name");
}

function contended(): Problem {
  return new Problem("overloaded", "others change the task all the time", { retryAfterMs: 1_000 });
}
