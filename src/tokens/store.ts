import type { Problem } from "../errors.ts";
import type { Claims } from "./claims.ts";
import { quotaExceeded } from "./family-quota.ts";
import type { Payload } from "./payload.ts";

/** A token, with the tokens above it. */
export type Lineage = Pick<Claims, "jti" | "parents">;

export interface IssuedToken {
  claims: Claims;
  /** The `jti` of the token that issued it, or a description of the issuer. */
  issuedBy: string;
  /** Unix milliseconds. */
  issuedAt: number;
  /** The names of the keys that the token and the tokens above it were signed with, as far as they are on record. */
  kids: readonly string[];
}

/** The end of a token before its expiry. */
export interface Revocation {
  /** The `jti` of the token that revoked it. */
  readonly by: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** The use of a token since it was issued. */
export interface TokenUse {
  /** Runs that were admitted. */
  readonly runs: number;
  /** The time of the last request that the token authorized, in Unix milliseconds. */
  readonly lastMs: number;
}

/** A store of issued and revoked tokens. */
export interface TokenStore {
  /**
   * Records a token before the caller receives it, or a new version of a named task's token.
   *
   * @param kids the names of the keys that it and the tokens above it were signed with, its own key first
   * @param most the maximum number of unexpired tokens below the topmost token above it. For the token of a named task it is only
   * the number above which records of expired tokens are deleted early
   * @throws {Problem} `store_unavailable` when the record cannot be written, `quota_exceeded` when there are too many tokens.
   */
  record(
    payload: Payload,
    issuedBy: string,
    nowMs: number,
    kids?: readonly string[],
    most?: number,
  ): Promise<void> | void;
  /** Returns the token of that `jti`; `undefined` if it is unknown or expired long ago. */
  issued(jti: string): Promise<IssuedToken | undefined> | IssuedToken | undefined;
  /** Returns the first `count` tokens after a `jti`, ordered by `jti`. */
  list(after: string, count: number): Promise<IssuedToken[]> | IssuedToken[];
  /** Returns the first `count` tokens below a token after a `jti`, ordered by `jti`. Its work depends on `count` alone. */
  listBelow(above: Lineage, after: string, count: number): Promise<IssuedToken[]> | IssuedToken[];
  /**
   * Ends a token and the tokens below it for good. This takes effect at once on this node, and soon after on nodes that share
   * the store.
   *
   * A `jti` that was not issued here is revoked too, because nodes may share keys without sharing the store.
   *
   * @param end the Unix seconds at which a token that was not issued here expires, if known: the revocation is kept until then
   * @returns whether this call revoked it.
   * @throws {Problem} `request_invalid` when it is not a `jti`, `store_unavailable` when it cannot be written.
   */
  revoke(jti: string, revokedBy: string, nowMs: number, end?: number | null): Promise<boolean> | boolean;
  /**
   * Marks a revoked token as unusable, whatever its own expiry: its records are deleted as if it had expired now. Call this only
   * for tokens that the service itself stores. A credential may be presented again.
   *
   * @throws {Problem} `store_unavailable` when it cannot be written.
   */
  retire(jti: string, nowMs: number): Promise<void> | void;
  /** Called at each request. @throws {Problem} `store_unavailable` when the answer is unknown. */
  isRevoked(jti: string): boolean;
  /** Returns the revocation of this token, not of tokens above it; `undefined` if it was not revoked. */
  revocation(jti: string): Promise<Revocation | undefined> | Revocation | undefined;
  /**
   * Returns whether the key has signed a token that is valid or becomes valid later. The tokens below are not checked, because
   * they end with it.
   *
   * @throws {Problem} `store_unavailable` when the tokens cannot be read.
   */
  isKeyUsed(kid: string, nowMs: number): Promise<boolean> | boolean;
  /**
   * Adds to the recorded use of tokens. Unlike other records, the use may be lost at the end of the process or a power failure.
   *
   * @throws {Problem} `store_unavailable` when it cannot be written.
   */
  addUse(uses: ReadonlyMap<string, TokenUse>): Promise<void> | void;
  /** Returns the use of a token; `undefined` if it was never used. */
  use(jti: string): Promise<TokenUse | undefined> | TokenUse | undefined;
  /** Calls each listener with each new revocation, on this node or another. Tokens below a revoked one are not listed. */
  onRevoked(listener: (jtis: readonly string[]) => void): void;
  close(): void;
}

const DAY_S = 86_400;

/** How long a record outlasts its token, in milliseconds. A family with too many records loses them sooner. */
export const REMEMBERED_MS: number = DAY_S * 1_000;

export function tokensFull(most: number): Problem {
  return quotaExceeded(
    `the token family has ${most} unexpired tokens, which is the maximum`,
    "Issue tokens with a shorter life (expiresIn), or wait until some expire. A revoked token counts until it expires, because " +
      "its revocation is stored until then. The operator sets the number with --family-tokens.",
  );
}

/** Returns the time when the record is deleted, in Unix milliseconds: a day after the token ends, so that its use can be read. */
export function forgetAt(expS: number, leewayS: number): number {
  return (expS + leewayS + DAY_S) * 1_000;
}

/**
 * Returns whether a token or one above it is revoked on record. The record also has revocations by other nodes that this node
 * has not received yet. Call this after writing data that must end with the token: then either the caller or the revocation
 * deletes the data.
 *
 * @throws {Problem} `store_unavailable` when the record cannot be read.
 */
export async function isRevokedOnRecord(
  { jti, parents }: Lineage,
  store: Pick<TokenStore, "revocation">,
): Promise<boolean> {
  const found = await Promise.all([jti, ...parents].map(async (id) => store.revocation(id)));
  return found.some((revocation) => revocation !== undefined);
}
