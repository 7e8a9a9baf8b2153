import { randomBytes, randomUUID } from "node:crypto";

import type { Lock } from "../packages/model.ts";
import type { Caller } from "../tokens/caller.ts";
import type { Claims } from "../tokens/claims.ts";
import { claimsOf, type Payload } from "../tokens/payload.ts";
import type { Tokens } from "../tokens/token-service.ts";
import { ChangeNotes } from "./change-notes.ts";
import { taskKeepingSecrets } from "./changes.ts";
import { type Before, type Definition, type TaskRef, taskPayload } from "./definition.ts";
import { mayHandleFetch } from "./fetch-handler.ts";
import { full } from "./room.ts";
import type { StoredVersion, TaskRoom, TaskStore } from "./store.ts";
import { isPacked, packed } from "./task-code.ts";
import { storeSecrets } from "./task-secrets.ts";
import { describing, ownerOf, type Task, type TaskRecord } from "./task.ts";

/** The limits of stored tasks. */
export interface TaskBounds {
  /** The maximum number of tasks in a container. */
  readonly containerTasks: number;
  /** The maximum number of tasks of a token family, and the maximum bytes of these with their versions. */
  readonly familyTasks: number;
  readonly familyTaskBytes: number;
}

/** The actor that ends the tokens of killed changes, in the records of their revocations. */
const SERVICE = "the next start of the service";

/** Stores the versions of tasks, with their tokens and their secrets. */
export class TaskWriter {
  readonly #store: TaskStore;
  readonly #tokens: Tokens;
  readonly #bounds: TaskBounds;
  readonly #nowMs: () => number;
  readonly #notes: ChangeNotes;

  /** @param nowMs the clock, in Unix milliseconds */
  constructor(store: TaskStore, tokens: Tokens, bounds: TaskBounds, nowMs: () => number) {
    this.#store = store;
    this.#notes = new ChangeNotes(store, nowMs);
    this.#tokens = tokens;
    this.#bounds = bounds;
    this.#nowMs = nowMs;
  }

  /**
   * Stores a version as the newest.
   *
   * @returns its record; null if another change was stored first. Nothing has changed then.
   * @throws {Problem} `quota_exceeded`, `store_unavailable`
   */
  async write(
    at: TaskRef,
    definition: Definition,
    lock: Lock | null,
    before: Before,
    by: Caller,
  ): Promise<string | null> {
    const payload = taskPayload(at, definition, before.active, by.claims, this.#nowMs());
    const claims = claimsOf(payload);
    const secretsOwner = ownerOf(randomUUID(), claims);
    const { newest } = before;
    const note = {
      ...{ container: at.container, name: at.name },
      jtis: newest ? [newest.caller.claims.jti, claims.jti] : [claims.jti],
      owners: newest ? [newest.owner, secretsOwner] : [secretsOwner],
    };
    return await this.#notes.during(note, () => {
      return this.#write(at, definition, lock, before, { by, payload, newSecretsId: secretsOwner.jti });
    });
  }

  async #write(
    at: TaskRef,
    definition: Definition,
    lock: Lock | null,
    { newest, active }: Before,
    { by, payload, newSecretsId }: { by: Caller; payload: Payload; newSecretsId: string },
  ): Promise<string | null> {
    const claims = claimsOf(payload);
    const { vault, store: tokenStore } = this.#tokens;
    const { jti: byJti, admin } = by.claims;
    const kids = admin ? [] : by.kids;
    const staying = taskKeepingSecrets(definition, active, by.claims);
    const secretsId = await storeSecrets(vault, definition, claims, staying, newSecretsId);
    const record: TaskRecord = {
      ...{ ...at, payload, secretsId, public: definition.public, inline: definition.code !== null },
      ...{ errors: definition.errors, record: definition.record, ...describing(definition) },
      packed: definition.code !== null && isPacked(definition.code),
      // Found here and not at each preflight, which anyone may send and which nothing counts.
      mayHandleFetch: definition.code !== null && mayHandleFetch(definition.code),
      ...{ version: (newest?.version ?? 0) + 1, etag: randomBytes(9).toString("base64url") },
      ...{ by: byJti, kids, at: this.#nowMs(), secretsBy: staying?.secretsBy ?? chainOf(by.claims) },
      ...(lock !== null && { lock }),
    };
    const { code } = definition;
    const stored: StoredVersion = { ...record, record: JSON.stringify(record), code: code && packed(code) };
    const room = this.#roomOf(by);
    const outcome = await this.#store.put(at.container, at.name, stored, newest?.etag ?? null, room);
    if (outcome !== "stored") {
      if (secretsId !== active?.owner.jti) await vault.set(ownerOf(secretsId, claims), {});
      if (outcome !== "changed") throw full(outcome, room);
      return null;
    }
    await tokenStore.record(payload, byJti, this.#nowMs(), kids, this.#bounds.familyTasks);
    if (newest && newest.caller.claims.jti !== claims.jti) await this.#retire(newest.caller.claims.jti, byJti);
    else if (active && active.owner.jti !== secretsId) await vault.set(active.owner, {});
    await this.#retireEarlier(await this.#store.versions(at.container, at.name), claims.jti, byJti);
    return stored.record;
  }

  /**
   * Deletes a task, its token and its secrets.
   *
   * @param onRemoved called when the task is deleted, and before its token ends
   * @returns whether the task was deleted. If another change was stored first, nothing has changed.
   * @throws {Problem} `store_unavailable`
   */
  async remove(
    { container, name, etag, owner, caller }: Task,
    by: Caller,
    onRemoved: () => Promise<void>,
  ): Promise<boolean> {
    const { jti } = caller.claims;
    return await this.#notes.during({ container, name, jtis: [jti], owners: [owner] }, async () => {
      const records = await this.#store.versions(container, name);
      if (!(await this.#store.remove(container, name, etag))) return false;
      await onRemoved();
      await this.#retire(jti, by.claims.jti);
      await this.#retireEarlier(records, jti, by.claims.jti);
      return true;
    });
  }

  /** Deletes the tokens and the secrets that killed services have left behind. @throws {Problem} `store_unavailable` */
  async endKilled(find: (at: TaskRef) => Task | null | Promise<Task | null>): Promise<void> {
    const { vault, store } = this.#tokens;
    const endToken = async (jti: string): Promise<void> => {
      if (await store.issued(jti)) await this.#retire(jti, SERVICE);
    };
    await this.#notes.endKilled({ find, vault, endToken });
  }

  /**
   * Ends the tokens of earlier versions that are still valid: the service was killed after it had stored the version that follows.
   *
   * @param records the records of the stored versions
   * @param newest the `jti` of the newest version, which stays as it is
   * @param by the `jti` of the token that makes the change
   */
  async #retireEarlier(records: readonly string[], newest: string, by: string): Promise<void> {
    const { store } = this.#tokens;
    const jtis = new Set(records.map((record) => (JSON.parse(record) as TaskRecord).payload.jti));
    jtis.delete(newest);
    const valid = await Promise.all([...jtis].map(async (jti) => !store.isRevoked(jti) && (await store.issued(jti))));
    for (const issued of valid) if (issued) await this.#retire(issued.claims.jti, by);
  }

  /** Ends a token that no task runs under any more. A token without an end would otherwise be stored forever. */
  async #retire(jti: string, by: string): Promise<void> {
    await this.#tokens.revoke(jti, by);
    await this.#tokens.store.retire(jti, this.#nowMs());
  }

  #roomOf(by: Caller): TaskRoom {
    const { containerTasks, familyTasks, familyTaskBytes: familyBytes } = this.#bounds;
    return { containerTasks, family: by.quotaFamily, familyTasks, familyBytes };
  }
}

function chainOf(by: Claims): string[] {
  return by.admin ? [] : [by.jti, ...by.parents];
}
