import { randomBytes } from "node:crypto";

import type { Lock } from "../packages/model.ts";
import type { Caller } from "../tokens/caller.ts";
import type { Claims } from "../tokens/claims.ts";
import { claimsOf } from "../tokens/payload.ts";
import type { Tokens } from "../tokens/token-service.ts";
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

/** Stores the versions of tasks, with their tokens and their secrets. */
export class TaskWriter {
  readonly #store: TaskStore;
  readonly #tokens: Tokens;
  readonly #bounds: TaskBounds;
  readonly #nowMs: () => number;

  /** @param nowMs the clock, in Unix milliseconds */
  constructor(store: TaskStore, tokens: Tokens, bounds: TaskBounds, nowMs: () => number) {
    this.#store = store;
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
    { newest, active }: Before,
    by: Caller,
  ): Promise<string | null> {
    const payload = taskPayload(at, definition, active, by.claims, this.#nowMs());
    const claims = claimsOf(payload);
    const { vault, store: tokenStore } = this.#tokens;
    const { jti: byJti, admin } = by.claims;
    const kids = admin ? [] : by.kids;
    const staying = taskKeepingSecrets(definition, active, by.claims);
    const secretsId = await storeSecrets(vault, definition, claims, staying);
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
    if (newest && newest.caller.claims.jti !== claims.jti) await this.retire(newest, by);
    else if (active && active.owner.jti !== secretsId) await vault.set(active.owner, {});
    await this.retireEarlier(await this.#store.versions(at.container, at.name), claims.jti, by);
    return stored.record;
  }

  /**
   * Ends the tokens of earlier versions that are still valid: the service was killed after it had stored the version that follows.
   *
   * @param records the records of the stored versions
   * @param newest the `jti` of the newest version, which stays as it is
   */
  async retireEarlier(records: readonly string[], newest: string, by: Caller): Promise<void> {
    const { store } = this.#tokens;
    const jtis = new Set(records.map((record) => (JSON.parse(record) as TaskRecord).payload.jti));
    jtis.delete(newest);
    const valid = await Promise.all([...jtis].map(async (jti) => !store.isRevoked(jti) && (await store.issued(jti))));
    for (const issued of valid) if (issued) await this.#retire(issued.claims.jti, by);
  }

  /** Ends the token of a task that no longer exists. A token without an end would otherwise be stored forever. */
  async retire({ caller: { claims } }: Task, by: Caller): Promise<void> {
    await this.#retire(claims.jti, by);
  }

  async #retire(jti: string, by: Caller): Promise<void> {
    await this.#tokens.revoke(jti, by.claims.jti);
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
