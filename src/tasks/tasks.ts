import { createHash, randomBytes, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

import { Problem } from "../errors.ts";
import type { Tokens } from "../tokens/authority.ts";
import type { Claims } from "../tokens/claims.ts";
import { claimsOf } from "../tokens/payload.ts";
import type { Secrets } from "../tokens/secrets/vault.ts";
import { CodeCache } from "./code-cache.ts";
import { type Definition, definitionOf, type Given } from "./definition.ts";
import { readTaskRequest, type TaskMembers } from "./request.ts";
import type { StoredVersion, TaskStore } from "./store.ts";
import { ownerOf, pinOf, type Task, taskOf, type TaskRecord } from "./task.ts";

export interface TasksOptions {
  /** The most bytes of a task's code. */
  readonly codeLimit: number;
  /** The clock, in Unix milliseconds. */
  readonly nowMs?: () => number;
}

/** Whether what is there now, by its etag, or null for nothing, may be changed. */
export type Condition = (etag: string | null) => boolean;

/** Of records that were read. */
const MAX_READ = 10_000;
/** Others may change a task between the look at it and the change: so often it is looked again. */
const ATTEMPTS = 10;

/** The named tasks: code with the token that it runs under. */
export class Tasks {
  readonly #store: TaskStore;
  readonly #tokens: Tokens;
  readonly #codeLimit: number;
  readonly #nowMs: () => number;
  readonly #codes: CodeCache = new CodeCache();
  /** By their records: as long as a task is the same, so are its claims, by which others know it. */
  readonly #read = new Map<string, Task>();

  constructor(store: TaskStore, tokens: Tokens, { codeLimit, nowMs = Date.now }: TasksOptions) {
    this.#store = store;
    this.#tokens = tokens;
    this.#codeLimit = codeLimit;
    this.#nowMs = nowMs;
  }

  /** The task as it is now, or null; at once where it is kept here. @throws {Problem} `store_unavailable` */
  find(container: string, name: string): Task | null | Promise<Task | null> {
    const found = this.#store.newest(container, name);
    if (!(found instanceof Promise)) return found === null ? null : this.#taskOf(found);
    return found.then((record) => (record === null ? null : this.#taskOf(record)));
  }

  /** The code that is kept with the task. @throws {Problem} `not_found` when it has gone meanwhile. */
  async codeOf(task: Task): Promise<Buffer> {
    const digest = pinOf(task).sha256!;
    const known = this.#codes.get(digest);
    if (known) return known;
    const stored = await this.#store.version(task.container, task.name, task.version);
    if (typeof stored?.code !== "string") throw new Problem("not_found", "the task was changed or deleted meanwhile");
    return this.#codes.add(digest, Buffer.from(stored.code));
  }

  /**
   * Makes a task, or changes what is said of it and keeps the rest; only secrets go with the code that they were for. One
   * whose token has ended is made anew; where nothing changes it stays whose it is.
   *
   * @throws {Problem} `request_invalid` with the faults, `token_forbidden` with what is more than the token that asks has,
   * `precondition_failed`, `store_unavailable`.
   */
  async put(at: Place, input: unknown, by: Claims, condition: Condition): Promise<{ task: Task; made: boolean }> {
    const given = readTaskRequest(input, this.#codeLimit);
    return await this.#change(at, by, condition, async (kept) => this.#given(given, kept), { mayStay: true });
  }

  /** Makes a version the newest again. @throws {Problem} as `put`, and `not_found` when it is not kept. */
  async rollBack(at: Place, version: number, secrets: unknown, by: Claims, condition: Condition): Promise<Task> {
    const stored = await this.#store.version(at.container, at.name, version);
    if (!stored) throw new Problem("not_found", "there is no such version of the task, or not any more");
    const { claims, public: isPublic } = taskOf(stored.record);
    const { limits, net, fresh, params, code } = claims;
    const text = stored.code === null ? code : { code: stored.code };
    const members = {
      ...text,
      limits,
      net,
      fresh,
      params,
      public: isPublic,
      ...(secrets !== undefined && { secrets }),
    };
    const { task } = await this.#change(at, by, condition, async (kept) => this.#given(members, kept), {
      mayStay: false,
    });
    return task;
  }

  /** Those that are kept, newest first. */
  async versions({ container, name }: Place): Promise<Task[]> {
    return (await this.#store.versions(container, name)).map(taskOf);
  }

  async list(container: string, after: string, count: number): Promise<Task[]> {
    return (await this.#store.list(container, after, count)).map(taskOf);
  }

  /** Ends a task, its token and its secrets. @throws {Problem} `not_found`, `precondition_failed`, `store_unavailable` */
  async remove({ container, name }: Place, by: Claims, condition: Condition): Promise<Task> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const before = await this.find(container, name);
      mustHold(condition, before);
      if (!before) throw new Problem("not_found", "there is no task of that name");
      if (!(await this.#store.remove(container, name, before.etag))) continue;
      await this.#tokens.revoke(before.claims.jti, by.jti);
      return before;
    }
    throw contended();
  }

  close(): void {
    this.#store.close();
  }

  async #change(
    at: Place,
    by: Claims,
    condition: Condition,
    given: (kept: Task | null) => Promise<Given>,
    { mayStay }: { mayStay: boolean },
  ): Promise<{ task: Task; made: boolean }> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const before = await this.find(at.container, at.name);
      mustHold(condition, before);
      const kept = before && !this.#hasEnded(before.claims) ? before : null;
      const wanted = await given(kept);
      const definition = definitionOf(at, wanted, kept, by, this.#nowMs());
      if (kept && mayStay && changesNothing(wanted, kept)) return { task: kept, made: false };
      const task = await this.#write(definition, before, kept, by);
      if (task) return { task, made: before === null };
    }
    throw contended();
  }

  async #given(members: TaskMembers, kept: Task | null): Promise<Given> {
    const isOther = members.code !== undefined || members.url !== undefined;
    const code = members.code ?? (!isOther && kept?.inline ? (await this.codeOf(kept)).toString() : null);
    return { ...members, code, sha256Of: code === null ? null : createHash("sha256").update(code).digest("hex") };
  }

  /** @returns null, and then nothing has changed, when something else was changed first. */
  async #write(definition: Definition, before: Task | null, kept: Task | null, by: Claims): Promise<Task | null> {
    const { payload, code, container, name } = definition;
    const claims = claimsOf(payload);
    const { vault, registry } = this.#tokens;
    const staying = kept && definition.secrets === null && mayKeepSecrets(kept, claims, by) ? kept : null;
    const secretsId = await this.#keepSecrets(definition, claims, staying, by);
    const record: TaskRecord = {
      ...{ container, name, payload, secretsId, public: definition.public, inline: code !== null },
      ...{ version: (before?.version ?? 0) + 1, etag: randomBytes(9).toString("base64url") },
      ...{ by: by.jti, at: this.#nowMs(), secretsBy: staying?.secretsBy ?? chainOf(by) },
    };
    const stored: StoredVersion = { ...record, record: JSON.stringify(record), code };
    if (!(await this.#store.put(container, name, stored, before?.etag ?? null))) {
      if (secretsId !== kept?.owner.jti) await vault.set(ownerOf(secretsId, claims), {});
      return null;
    }
    await registry.record(payload, by.jti, this.#nowMs());
    if (before && before.claims.jti !== claims.jti) await this.#tokens.revoke(before.claims.jti, by.jti);
    else if (kept && kept.owner.jti !== secretsId) await vault.set(kept.owner, {});
    return taskOf(stored.record);
  }

  /**
   * Before the code that they are for is in force, and under a name of their own: so neither the old code is ever given the
   * new ones, nor the new code the old.
   *
   * @param staying the task whose secrets stay, or null.
   * @returns what they hang on.
   */
  async #keepSecrets(definition: Definition, claims: Claims, staying: Task | null, by: Claims): Promise<string> {
    const { vault } = this.#tokens;
    if (!by.admin) await vault.refuseOverriding(by, { secrets: {}, params: claims.params });
    if (staying?.claims.jti === claims.jti) {
      // They are forgotten with the token, which may last longer now.
      const mustMove = staying.claims.exp !== claims.exp;
      if (mustMove) await vault.set(ownerOf(staying.owner.jti, claims), await vault.own(staying.owner));
      return staying.owner.jti;
    }
    const secrets: Secrets = staying ? await vault.own(staying.owner) : (definition.secrets ?? {});
    const secretsId = randomUUID();
    if (Object.keys(secrets).length === 0) return secretsId;
    if (!by.admin) await vault.refuseOverriding(by, { secrets, params: {} });
    await vault.set(ownerOf(secretsId, claims), secrets);
    return secretsId;
  }

  #hasEnded(claims: Claims): boolean {
    try {
      this.#tokens.verifier.mustNotHaveEnded(claims);
      return false;
    } catch (error) {
      if (error instanceof Problem && error.code === "token_invalid") return true;
      throw error;
    }
  }

  #taskOf(record: string): Task {
    let task = this.#read.get(record);
    if (!task) {
      task = taskOf(record);
      const [oldest] = this.#read.size >= MAX_READ ? this.#read.keys() : [];
      if (oldest !== undefined) this.#read.delete(oldest);
      this.#read.set(record, task);
    }
    return task;
  }
}

/** Where a task is. */
export interface Place {
  readonly container: string;
  readonly name: string;
}

/**
 * Whether a change leaves the secrets where they are. Other code would be given them, and with other params, or a wider
 * net, the same code could be had to give them away: that only who has set them, or stands above that one, may do and have
 * them stay.
 */
function mayKeepSecrets(kept: Task, { code, params, net }: Claims, by: Claims): boolean {
  if (!isDeepStrictEqual(pinOf(kept), code)) return false;
  if (by.admin || kept.secretsBy.includes(by.jti)) return true;
  return isDeepStrictEqual(params, kept.claims.params) && isDeepStrictEqual(net, kept.claims.net);
}

/**
 * Whether all that is said is so already. Then the task stays as it is, below whom it is: a look at it by a PUT of nothing
 * would make it end with the token that looked. Secrets are never compared.
 */
function changesNothing(given: Given, kept: Task): boolean {
  const { claims } = kept;
  const { sha256Of, url, sha256, secrets, expiresIn } = given;
  if (secrets !== undefined || expiresIn !== undefined) return false;
  const pin = pinOf(kept);
  const isSameCode = sha256Of === null ? !kept.inline : kept.inline && sha256Of === pin.sha256;
  const said: [unknown, unknown][] = [
    [url, pin.url],
    [sha256, pin.sha256],
    [given.public, kept.public],
    [given.fresh, claims.fresh],
    [given.params, claims.params],
    [given.limits === null ? {} : given.limits, claims.limits],
    [given.net, claims.net],
    [given.exp, claims.exp],
  ];
  return isSameCode && said.every(([wanted, is]) => wanted === undefined || isDeepStrictEqual(wanted, is));
}

function chainOf(by: Claims): string[] {
  return by.admin ? [] : [by.jti, ...by.parents];
}

function mustHold(condition: Condition, task: Task | null): void {
  if (condition(task?.etag ?? null)) return;
  throw new Problem("precondition_failed", task ? "the task is not the one that you mean" : "there is no such task");
}

function contended(): Problem {
  return new Problem("overloaded", "others change the task all the time", { retryAfterMs: 1_000 });
}
