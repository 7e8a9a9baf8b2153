import { Problem } from "../errors.ts";
import type { LimitStore } from "../limits/limiter.ts";
import { limitVector, type LimitVector } from "../limits/windows.ts";
import { type Claims, familyOf } from "./claims.ts";

/**
 * The family whose quotas a token counts against.
 *
 * @returns null for an administrator's token: what it issues starts a family of its own.
 */
export function quotaFamilyOf(claims: Pick<Claims, "admin" | "jti" | "parents">): string | null {
  return claims.admin ? null : familyOf(claims);
}

/** What a family may keep of one kind. */
export interface FamilyQuota {
  readonly family: string;
  readonly most: number;
}

/** @param fact such as `the token and those below it have 1000 unexpired tokens, and may have no more` */
export function quotaExceeded(fact: string, hint: string): Problem {
  return new Problem("quota_exceeded", fact, { hint });
}

/** How fast tokens may be issued within each family: exact, and shared by all nodes, as the limits of runs are. */
export class IssueRate {
  readonly #store: Pick<LimitStore, "admit">;
  readonly #perMinute: number;
  readonly #limits: LimitVector;

  constructor(store: Pick<LimitStore, "admit">, perMinute: number) {
    this.#store = store;
    this.#perMinute = perMinute;
    this.#limits = limitVector({ minute: perMinute });
  }

  /**
   * Counts one token that is about to be issued. An administrator's are not counted.
   *
   * @throws {Problem} `token_limited` when the family issues too fast, `store_unavailable` when it cannot be counted.
   */
  async admit(by: Claims): Promise<void> {
    const family = quotaFamilyOf(by);
    if (family === null) return;
    const charge = { key: `${ISSUES_PREFIX}${family}`, class: "token", limits: this.#limits } as const;
    const { admitted, retryAfterMs, violations } = await this.#store.admit([charge]);
    if (admitted) return;
    const most = this.#perMinute === 1 ? "1 token" : `${this.#perMinute} tokens`;
    const wait = Math.ceil(retryAfterMs / 1_000);
    throw new Problem(
      "token_limited",
      `the token and those below it issue ${most} a minute; the next fits in ${wait} s`,
      {
        hint: "Issue longer-lived tokens and use them again; the operator sets the rate with --family-issues.",
        retryAfterMs,
        violations,
      },
    );
  }
}

/** Keeps the issuing of a token apart from its runs. */
const ISSUES_PREFIX = "i:";
