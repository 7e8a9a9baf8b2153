import { Problem } from "../errors.ts";
import type { LimitStore } from "../limits/limiter.ts";
import { limitVector, type LimitVector } from "../limits/windows.ts";
import type { Caller } from "./caller.ts";

/** What a family may keep of one kind. */
export interface FamilyQuota {
  readonly family: string;
  readonly most: number;
}

/** @param fact such as `the token and those below it have 1000 unexpired tokens, and may have no more` */
export function quotaExceeded(fact: string, hint: string): Problem {
  return new Problem("quota_exceeded", fact, { hint });
}

/**
 * Limits how often each family writes: tokens that it issues, changes of its tasks, secrets that it replaces. The count is
 * exact, and shared by all nodes, as the limits of runs are.
 */
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
   * Counts one write that is about to happen. The writes of administrators are not counted.
   *
   * @throws {Problem} `token_limited` when the family writes too often, `store_unavailable` when the write cannot be counted.
   */
  async admit({ quotaFamily: family }: Pick<Caller, "quotaFamily">): Promise<void> {
    if (family === null) return;
    const charge = { key: `${ISSUES_PREFIX}${family}`, class: "token", limits: this.#limits } as const;
    const { admitted, retryAfterMs, violations } = await this.#store.admit([charge]);
    if (admitted) return;
    const most = this.#perMinute === 1 ? "1 time" : `${this.#perMinute} times`;
    const wait = Math.ceil(retryAfterMs / 1_000);
    throw new Problem(
      "token_limited",
      `the token and those below it issue tokens and change tasks and secrets ${most} a minute; the next fits in ${wait} s`,
      {
        hint: "Use a token or a task again instead of making another; the operator sets the rate with --family-issues.",
        retryAfterMs,
        violations,
      },
    );
  }
}

/** Keeps the issuing of a token apart from its runs. */
const ISSUES_PREFIX = "i:";
