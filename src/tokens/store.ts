import type { Problem } from "../errors.ts";
import type { Claims } from "./claims.ts";
import { quotaExceeded } from "./family-quota.ts";
import type { Payload } from "./payload.ts";

export interface IssuedToken {
  claims: Claims;
  /** The `jti` of the token that asked for it, or words for what did. */
  issuedBy: string;
  /** Unix milliseconds. */
  issuedAt: number;
  /** The names of the keys that it was signed with, and those above it, as far as that is on record. */
  kids: readonly string[];
}

/** The end of a token before its time. */
export interface Revocation {
  /** The `jti` of who revoked it. */
  readonly by: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** What became of a token after it was issued. */
export interface TokenUse {
  /** Runs that were admitted. */
  readonly runs: number;
  /** When a request that it was good for last came, in Unix milliseconds. */
  readonly lastMs: number;
}

/** Which tokens were issued, and which were revoked. */
export interface TokenStore {
  /**
   * Remembers a token that is about to be handed out, or what that of a named task has become.
   *
   * @param kids the names of the keys that it was signed with, and those above it: its own key first.
   * @param most how many unexpired tokens there may be below the topmost token above it. Of a named task's token it is no
   * more than the number from which on records of expired ones are deleted early.
   * @throws {Problem} `store_unavailable` when it cannot be written, `quota_exceeded` when it is one too many.
   */
  record(
    payload: Payload,
    issuedBy: string,
    nowMs: number,
    kids?: readonly string[],
    most?: number,
  ): Promise<void> | void;
  /** The token of that `jti`; `undefined` when it is unknown or long expired. */
  issued(jti: string): Promise<IssuedToken | undefined> | IssuedToken | undefined;
  /** The tokens after a `jti`, the first so many, in the order of their `jti`s. */
  list(after: string, count: number): Promise<IssuedToken[]> | IssuedToken[];
  /**
   * Ends a token, and those below it, at once and for good, on this node; on those that share the register soon after.
   *
   * A `jti` that was not issued here is revoked too, for nodes that share keys.
   *
   * @param end Unix seconds at which one that was not issued here expires, where that is known: until then it is kept.
   * @returns whether it was this call that revoked it.
   * @throws {Problem} `request_invalid` when it is no `jti`, `store_unavailable` when it cannot be written.
   */
  revoke(jti: string, revokedBy: string, nowMs: number, end?: number | null): Promise<boolean> | boolean;
  /**
   * Says of a token that was revoked that nobody can take it for valid any more, whatever its own end: all that is known of
   * it is forgotten as if it had expired now. Only of those that the service keeps itself: a credential may turn up again.
   *
   * @throws {Problem} `store_unavailable` when it cannot be written.
   */
  retire(jti: string, nowMs: number): Promise<void> | void;
  /** Asked at each request. @throws {Problem} `store_unavailable` when it cannot know. */
  isRevoked(jti: string): boolean;
  /** Who has revoked it, itself and none above it; `undefined` when nobody has. */
  revocation(jti: string): Promise<Revocation | undefined> | Revocation | undefined;
  /**
   * Whether a valid token, or one that becomes valid later, was signed with the key. Tokens below it are not asked: they end
   * with it.
   *
   * @throws {Problem} `store_unavailable`
   */
  isKeyUsed(kid: string, nowMs: number): Promise<boolean> | boolean;
  /**
   * Adds to what is known of the use of tokens. Unlike the rest it may be lost with the process or the power.
   *
   * @throws {Problem} `store_unavailable` when it cannot be written.
   */
  addUse(uses: ReadonlyMap<string, TokenUse>): Promise<void> | void;
  /** `undefined` when it was never used. */
  use(jti: string): Promise<TokenUse | undefined> | TokenUse | undefined;
  /** Calls with what is revoked from now on, here or on another node. Tokens below those are not named. */
  onRevoked(told: (jtis: readonly string[]) => void): void;
  close(): void;
}

const DAY_S = 86_400;

/** How long a record outlasts its token, in milliseconds. A family that has too many on record loses them sooner. */
export const REMEMBERED_MS: number = DAY_S * 1_000;

export function tokensFull(most: number): Problem {
  return quotaExceeded(
    `there are ${most} unexpired tokens in the family of the token, and may be no more`,
    "Issue shorter-lived ones (expiresIn), or wait until some expire: a revoked token counts until then, because its " +
      "revocation has to be kept as long. The operator sets the number with --family-tokens.",
  );
}

/** A day after nobody can take it for valid, in Unix milliseconds: its record is still asked for when its use is looked at. */
export function forgetAt(expS: number, leewayS: number): number {
  return (expS + leewayS + DAY_S) * 1_000;
}

/**
 * Whether a token was revoked, or one above it, by what is on record: also on another node, of which this one has not heard
 * yet. Whoever writes what is to go with the token asks afterwards: then either he or who revokes it takes it away.
 *
 * @throws {Problem} `store_unavailable`
 */
export async function isRevokedOnRecord(
  { jti, parents }: Pick<Claims, "jti" | "parents">,
  register: Pick<TokenStore, "revocation">,
): Promise<boolean> {
  const found = await Promise.all([jti, ...parents].map(async (each) => register.revocation(each)));
  return found.some((revocation) => revocation !== undefined);
}
