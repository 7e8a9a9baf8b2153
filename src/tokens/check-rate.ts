import { Problem } from "../errors.ts";
import type { LimitStore } from "../limits/store.ts";
import { limitVector, type LimitVector } from "../limits/windows.ts";
import type { Caller } from "./caller.ts";

/** The prefix that separates the key of a family's checks from the key of its writes and of runs. */
const CHECKS_PREFIX = "s:";

/** Limits how often each family checks the syntax of code. The count is exact and shared by all nodes, like the limits of runs. */
export class CheckRate {
  readonly #store: Pick<LimitStore, "admit">;
  readonly #perMinute: number;
  readonly #limits: LimitVector;

  constructor(store: Pick<LimitStore, "admit">, perMinute: number) {
    this.#store = store;
    this.#perMinute = perMinute;
    this.#limits = limitVector({ minute: perMinute });
  }

  /**
   * Counts one check before it is made. Checks of administrators are not counted.
   *
   * @throws {Problem} `token_limited` when the family checks too often, `store_unavailable` when the check cannot be counted.
   */
  async admit({ quotaFamily: family }: Pick<Caller, "quotaFamily">): Promise<void> {
    if (family === null) return;
    const charge = { key: `${CHECKS_PREFIX}${family}`, class: "token", limits: this.#limits } as const;
    const { admitted, retryAfterMs, violations } = await this.#store.admit([charge]);
    if (admitted) return;
    const wait = Math.ceil(retryAfterMs / 1_000);
    throw new Problem(
      "token_limited",
      `the token family may check code ${this.#perMinute} times a minute; the next check fits in ${wait} s`,
      {
        hint: "A run reports the same error. The operator sets the rate with --family-checks.",
        retryAfterMs,
        violations,
      },
    );
  }
}
