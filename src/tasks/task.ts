import type { Labels } from "../labels.ts";
import type { Lock } from "../packages/model.ts";
import type { Ranges } from "../packages/names.ts";
import { Caller } from "../tokens/caller.ts";
import type { Claims, Pin } from "../tokens/claims.ts";
import type { Payload } from "../tokens/payload.ts";
import { claimsOf } from "../tokens/payload.ts";
import type { Owner } from "../tokens/secrets/vault.ts";
import type { TokenStore } from "../tokens/store.ts";
import type { InputSchema } from "./input-schema.ts";

export const ERROR_VISIBILITIES = ["shown", "hidden"] as const;
export type ErrorVisibility = (typeof ERROR_VISIBILITIES)[number];

/** A named task: a token that the service stores, with the code that it is pinned to. */
export interface Task {
  readonly container: string;
  readonly name: string;
  readonly version: number;
  readonly etag: string;
  /** The token that the task runs under. It is charged, expires and can be revoked like any other. */
  readonly caller: Caller;
  /** Whether any caller may run it. */
  readonly public: boolean;
  /** What a client without a token receives if the public task fails: the error, or only the id of the run. */
  readonly errors: ErrorVisibility;
  /** What the records of its runs keep in addition: the input, or nothing. */
  readonly record: "input" | null;
  /** Whether clients of the MCP endpoint see the task as a tool. */
  readonly tool: boolean;
  /** The JSON Schema of what the tool takes, or null: any object. */
  readonly input: InputSchema | null;
  /** The packages that the task names outside of its texts, or null. */
  readonly packages: Ranges | null;
  /** The packages that the code imports, or null. A rollback brings it back. */
  readonly lock: Lock | null;
  /** Texts for lists and for readers. */
  readonly labels: Labels;
  readonly description: string | null;
  /** Whether the code is stored with the task, and not fetched. */
  readonly inline: boolean;
  /** Whether the stored code is packed, see `task-code.ts`. */
  readonly packed: boolean;
  /** Whether the stored code may define a fetch handler, which then answers preflights. */
  readonly mayHandleFetch: boolean;
  /** The owner of its secrets. Different code has a different owner, so that no code receives secrets for other code. */
  readonly owner: Owner;
  /** The `jti`s of the token that set the secrets and of all tokens above it; empty for an administrator. */
  readonly secretsBy: readonly string[];
  /** The `jti` of the token that put this version. */
  readonly by: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** A stored task, as JSON. */
export interface TaskRecord {
  readonly container: string;
  readonly name: string;
  readonly version: number;
  readonly etag: string;
  readonly payload: Payload;
  readonly public: boolean;
  /** Absent in tasks that an older version has written, like `record`. */
  readonly errors?: ErrorVisibility;
  readonly record?: "input" | null;
  /** Absent if there are none. */
  readonly labels?: Labels;
  readonly description?: string;
  readonly tool?: boolean;
  readonly input?: InputSchema;
  readonly packages?: Ranges;
  readonly lock?: Lock;
  readonly packed?: boolean;
  readonly mayHandleFetch?: boolean;
  readonly inline: boolean;
  readonly secretsId: string;
  readonly secretsBy: readonly string[];
  readonly by: string;
  /** The names of the keys that the tokens above it were signed with. The task ends with these keys. */
  readonly kids: readonly string[];
  readonly at: number;
}

/** The members that a record may lack. */
const DEFAULTS = {
  errors: "hidden",
  record: null,
  tool: false,
  input: null,
  packages: null,
  lock: null,
  labels: {},
  description: null,
  packed: false,
  mayHandleFetch: false,
} as const;

/** Reads a stored record. @throws {Error} when this version has not written it. */
export function taskOf(text: string, store: Pick<TokenStore, "issued">): Task {
  const { payload, secretsId, kids, ...rest } = JSON.parse(text) as TaskRecord;
  const claims = claimsOf(payload);
  return { ...DEFAULTS, ...rest, caller: new Caller(claims, null, kids, store), owner: ownerOf(secretsId, claims) };
}

/** Returns the members of a record that describe the task. A record without them can be read by older versions too. */
export function describing({
  labels,
  description,
  tool,
  input,
  packages,
}: Pick<Task, "labels" | "description" | "tool" | "input" | "packages">): Pick<
  TaskRecord,
  "labels" | "description" | "tool" | "input" | "packages"
> {
  return {
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(description !== null && { description }),
    ...(tool && { tool }),
    ...(input !== null && { input }),
    ...(packages !== null && { packages }),
  };
}

/** Returns an owner below the task's token, so that the secrets end with this token and with the tokens above it. */
export function ownerOf(secretsId: string, { jti, parents, exp }: Claims): Owner {
  return { jti: secretsId, parents: [jti, ...parents], exp };
}

/** Returns the pin of a task's code. */
export function pinOf(task: Task): Pin {
  return task.caller.claims.code!;
}
