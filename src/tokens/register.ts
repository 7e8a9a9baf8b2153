import type { Claims } from "./claims.ts";
import type { Payload } from "./payload.ts";

export interface IssuedToken {
  claims: Claims;
  /** The `jti` of the token that asked for it, or words for what did. */
  issuedBy: string;
  /** Unix milliseconds. */
  issuedAt: number;
}

/** Which tokens were issued, and which were revoked. */
export interface TokenRegister {
  /**
   * Remembers a token that is about to be handed out.
   *
   * @throws {Problem} `store_unavailable` when it cannot be written.
   */
  record(payload: Payload, issuedBy: string, nowMs: number): Promise<void> | void;
  /** The token of that `jti`; `undefined` when it is unknown or long expired. */
  issued(jti: string): Promise<IssuedToken | undefined> | IssuedToken | undefined;
  /**
   * Ends a token, and those below it, at once and for good, on this node; on those that share the register soon after.
   *
   * A `jti` that was not issued here is revoked too, for nodes that share keys.
   *
   * @returns whether it was this call that revoked it.
   * @throws {Problem} `request_invalid` when it is no `jti`, `store_unavailable` when it cannot be written.
   */
  revoke(jti: string, revokedBy: string, nowMs: number): Promise<boolean> | boolean;
  /** Asked at each request. @throws {Problem} `store_unavailable` when it cannot know. */
  isRevoked(jti: string): boolean;
  /** Calls with what is revoked from now on, here or on another node. Tokens below those are not named. */
  onRevoked(told: (jtis: readonly string[]) => void): void;
  close(): void;
}

const DAY_S = 86_400;

/** A day after nobody can take it for valid, in Unix milliseconds: its record is still asked for when its use is looked at. */
export function forgetAt(expS: number, leewayS: number): number {
  return (expS + leewayS + DAY_S) * 1_000;
}
