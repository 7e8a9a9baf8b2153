import { Caller } from "../tokens/caller.ts";
import type { Claims, Pin } from "../tokens/claims.ts";
import type { Payload } from "../tokens/payload.ts";
import { claimsOf } from "../tokens/payload.ts";
import type { Owner } from "../tokens/secrets/vault.ts";
import type { TokenStore } from "../tokens/store.ts";

/** A named task: a token that the service keeps, with the code that it is pinned to. */
export interface Task {
  readonly container: string;
  readonly name: string;
  readonly version: number;
  readonly etag: string;
  /** Under which it runs: charged, expiring and revocable like any other. */
  readonly caller: Caller;
  /** Whether it runs for whoever asks. */
  readonly public: boolean;
  /** Whether the code is kept here, and not fetched. */
  readonly inline: boolean;
  /** What its secrets hang on: other ones with other code, so that no code is ever given those of another. */
  readonly owner: Owner;
  /** The `jti`s of who set them and of all above that one; none of an administrator, who may do all. */
  readonly secretsBy: readonly string[];
  /** The `jti` of who put this version. */
  readonly by: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** A task as it is kept: JSON. */
export interface TaskRecord {
  readonly container: string;
  readonly name: string;
  readonly version: number;
  readonly etag: string;
  readonly payload: Payload;
  readonly public: boolean;
  readonly inline: boolean;
  readonly secretsId: string;
  readonly secretsBy: readonly string[];
  readonly by: string;
  /** The names of the keys that the tokens above it were signed with: it ends with them. */
  readonly kids: readonly string[];
  readonly at: number;
}

/** Reads a record that was kept. @throws {Error} when it is none of this version. */
export function taskOf(text: string, register: Pick<TokenStore, "issued">): Task {
  const { payload, secretsId, kids, ...rest } = JSON.parse(text) as TaskRecord;
  const claims = claimsOf(payload);
  return { ...rest, caller: new Caller(claims, null, kids, register), owner: ownerOf(secretsId, claims) };
}

/** Below the task's token, so that they end with it and with those above it. */
export function ownerOf(secretsId: string, { jti, parents, exp }: Claims): Owner {
  return { jti: secretsId, parents: [jti, ...parents], exp };
}

/** The code of a task, as its token names it. */
export function pinOf(task: Task): Pin {
  return task.caller.claims.code!;
}
