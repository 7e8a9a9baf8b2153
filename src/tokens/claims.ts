import type { NetClaim } from "../egress/restrict-policy.ts";
import type { Labels } from "../labels.ts";
import type { Limits } from "../limits/windows.ts";
import type { PackagesClaim } from "../packages/policy.ts";

/** What a token may be allowed to do. */
export const VERBS = ["run", "limits", "logs", "tasks", "issue"] as const;
export type Verb = (typeof VERBS)[number];

/** The limits that a token sets: for the container it runs in, and for itself. */
export interface TokenLimits {
  readonly container?: Limits;
  readonly token?: Limits;
}

/** A restriction of a token to one code: by URL, by hash or by both. */
export interface Pin {
  /** The URL from which the service fetches the code at each run. The request then supplies no code, and its body is data. */
  readonly url?: string;
  /** The SHA-256 of the code's UTF-8 bytes as sent or fetched, in lower-case hexadecimal. */
  readonly sha256?: string;
}

/** Values that the task can read, by name. Each is any JSON. */
export type Params = Readonly<Record<string, unknown>>;

/** The content of a token: its signed payload, with defaults. It is deeply frozen, because all requests of the token share it. */
export interface Claims {
  /** The name of the token in URLs and logs. It is not secret. */
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
  /** The longest that a run may take, as a duration such as `5s`. `null` if only the limits of the operator apply. */
  readonly timeout: string | null;
  /** A restriction of the operator's egress policy. `null` if the token adds no restriction. */
  readonly net: NetClaim;
  /** A restriction of the packages that the operator permits. `null` if the token adds no restriction. */
  readonly packages: PackagesClaim;
  /** `null` if the token may run any code. */
  readonly code: Pin | null;
  readonly params: Params;
  /** Whether code that a caller chooses may read the token's secrets. */
  readonly secretsReadable: boolean;
  /** Whether each run gets an unused guest. */
  readonly fresh: boolean;
  /** How many generations may be issued below it. A token that an administrator issues starts its own chain and depth. */
  readonly depth: number;
  /** Whether the token may revoke itself. */
  readonly selfRevoke: boolean;
  /** Texts for lists and for readers. Tokens below do not inherit them. */
  readonly labels: Labels;
  readonly description: string | null;
  /** The name of the task whose token this is, or null. The service stores the token of a task; it is not a credential. */
  readonly task: string | null;
  /** The `jti`s of the tokens that this one descends from, nearest first. */
  readonly parents: readonly string[];
}

/** Returns whether the token permits the container of that name. */
export function permitsContainer(claims: Claims, container: string): boolean {
  if (claims.admin) return true;
  for (const pattern of claims.containers) {
    if (pattern.endsWith("*") ? container.startsWith(pattern.slice(0, -1)) : container === pattern) return true;
  }
  return false;
}

/** Returns whether the token has a verb, for any container. */
export function permitsVerb(claims: Claims, verb: Verb): boolean {
  return claims.admin || claims.can.includes(verb);
}

/** Returns whether the text has the form of a `jti` of this service: a UUID in lower case. */
export function isJti(text: string): boolean {
  return JTI.test(text);
}

const JTI = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
