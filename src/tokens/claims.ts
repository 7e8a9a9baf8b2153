import type { NetClaim } from "../egress/narrow.ts";
import type { Limits } from "../limits/windows.ts";

/** What a token may be allowed to do. */
export const VERBS = ["run", "limits", "logs", "tasks", "issue"] as const;
export type Verb = (typeof VERBS)[number];

/** The limits that a token brings: for the container it runs in, and for itself. */
export interface TokenLimits {
  readonly container?: Limits;
  readonly token?: Limits;
}

/** The only code that a token may run, by one of these or both. */
export interface Pin {
  /** Where the code is fetched from at each run: then none is supplied, and the request body is data. */
  readonly url?: string;
  /** Of the UTF-8 bytes of the code as it is sent, or as the URL gives it, in lower-case hexadecimal. */
  readonly sha256?: string;
}

/** Readable values for the task, by their names. Any JSON. */
export type Params = Readonly<Record<string, unknown>>;

/** What a token says: its signed payload, with the defaults. Frozen in depth, because it is shared by all its requests. */
export interface Claims {
  /** The name of the token in URLs and logs. It is no secret. */
  readonly jti: string;
  readonly admin: boolean;
  /** Exact names, or prefixes that end in `*`. `["*"]` for an administrator. */
  readonly containers: readonly string[];
  /** All verbs for an administrator. */
  readonly can: readonly Verb[];
  /** Unix seconds; `null` when the token does not expire. */
  readonly exp: number | null;
  /** Unix seconds; `null` when the token is valid from the start. */
  readonly nbf: number | null;
  /** Unix seconds. */
  readonly iat: number;
  readonly limits: TokenLimits;
  /** What is left of the operator's egress policy. `null` when the token narrows nothing. */
  readonly net: NetClaim;
  /** `null` when the token runs whatever code it is given. */
  readonly code: Pin | null;
  readonly params: Params;
  /** Whether code that others choose may read its secrets. */
  readonly secretsReadable: boolean;
  /** Whether each run gets a guest that nobody has used. */
  readonly fresh: boolean;
  /** How many generations may be issued below it. An administrator's have a chain, and so a depth, of their own. */
  readonly depth: number;
  /** Whether it may revoke itself. */
  readonly selfRevoke: boolean;
  /** Of the named task that it stands for, or null. Such a token is kept by the service, and is nobody's credential. */
  readonly task: string | null;
  /** The `jti`s of the tokens that this one descends from, nearest first. */
  readonly parents: readonly string[];
}

/** Whether the token reaches the container of that name. */
export function permitsContainer(claims: Claims, container: string): boolean {
  if (claims.admin) return true;
  for (const pattern of claims.containers) {
    if (pattern.endsWith("*") ? container.startsWith(pattern.slice(0, -1)) : container === pattern) return true;
  }
  return false;
}

/** Whether the token may do that at all, wherever it may. */
export function permitsVerb(claims: Claims, verb: Verb): boolean {
  return claims.admin || claims.can.includes(verb);
}

/** Whether the text has the form of the `jti`s that this service gives: a UUID in lower case. */
export function isJti(text: string): boolean {
  return JTI.test(text);
}

const JTI = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
