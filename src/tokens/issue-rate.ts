import { Problem } from "../errors.ts";
import { refusal } from "../limits/decide.ts";
import type { Charge, Decision, LimitStore } from "../limits/store.ts";
import { limitVector, type LimitVector } from "../limits/windows.ts";
import type { Caller } from "./caller.ts";

/**
 * Limits how often each family issues tokens, changes tasks, replaces secrets, builds packages without a run and restarts containers.
 * The count is exact and shared by all nodes, like the limits of runs.
 */
export class IssueRate {
  readonly #store: Pick<LimitStore, "admit" | "read">;
  readonly #perMinute: number;
  readonly #limits: LimitVector;

  constructor(store: Pick<LimitStore, "admit" | "read">, perMinute: number) {
    this.#store = store;
    this.#perMinute = perMinute;
    this.#limits = limitVector({ minute: perMinute });
  }

  /**
   * Counts one write before it happens. Writes of administrators are not counted.
   *
   * @throws {Problem} `token_limited` when the family writes too often, `store_unavailable` when the write cannot be counted.
   */
  async admit(by: Pick<Caller, "quotaFamily">): Promise<void> {
    const charges = this.#charges(by);
    if (charges.length === 0) return;
    const decision = await this.#store.admit(charges);
    if (!decision.admitted) throw this.#problem(decision);
  }

  /**
   * Makes the decision that `admit` would make now, and counts nothing. So a write over the limit is rejected before the service
   * reads its body and checks its code.
   *
   * @throws {Problem} as `admit`.
   */
  async look(by: Pick<Caller, "quotaFamily">): Promise<void> {
    const charges = this.#charges(by);
    if (charges.length === 0) return;
    const decision = refusal(await this.#store.read(charges));
    if (decision) throw this.#problem(decision);
  }

  #charges({ quotaFamily: family }: Pick<Caller, "quotaFamily">): Charge[] {
    return family === null ? [] : [{ key: `${ISSUES_PREFIX}${family}`, class: "token", limits: this.#limits }];
  }

  #problem({ retryAfterMs, violations }: Decision): Problem {
    const most = this.#perMinute === 1 ? "1 time" : `${this.#perMinute} times`;
    const wait = Math.ceil(retryAfterMs / 1_000);
    return new Problem(
      "token_limited",
      `the token family may issue tokens, change tasks and secrets, build packages and restart containers ${most} a minute; the next change fits in ${wait} s`,
      {
        hint: "Use a token or a task again instead of creating another; the operator sets the rate with --family-issues.",
        retryAfterMs,
        violations,
      },
    );
  }
}

/** The prefix that separates the key of a family's writes from the key of a token's runs. */
const ISSUES_PREFIX = "i:";
