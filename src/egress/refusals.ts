import type { EgressCounts } from "../telemetry/egress-counts.ts";
import type { Budget } from "./budgets.ts";
import type { Attempt, RefusalReason } from "./faults.ts";

/** The maximum number of hosts of one run that are logged. */
const MAX_HOSTS = 20;
/**
 * The maximum number of log lines of one guest at once; each `REFILL_MS` allows one more. A task must not flood the
 * log.
 */
const BURST = 20;
const REFILL_MS = 1_000;
const MAX_HOST_CHARS = 255;

/** Counts the refusals of a guest, and reports a limited number: one for each run and host. */
export class Refusals {
  readonly #counts: EgressCounts;
  #allowance = BURST;
  #refilledMs = performance.now();
  #unreported = 0;

  constructor(counts: EgressCounts) {
    this.#counts = counts;
  }

  /** @param budget the budget of the run, or null if the run is unknown. */
  add(budget: Budget | null, { host, port }: Attempt, reason: RefusalReason): void {
    this.#counts.refused[reason] = (this.#counts.refused[reason] ?? 0) + 1;
    if (budget) budget.use.refused++;
    const shown = host.slice(0, MAX_HOST_CHARS);
    if (budget?.reported.has(shown)) return;
    if (budget === null || budget.reported.size >= MAX_HOSTS || !this.#mayReport()) {
      this.#unreported++;
      return;
    }
    budget.reported.add(shown);
    budget.listener?.refused({ host: shown, port, reason, unreported: this.#unreported });
    this.#unreported = 0;
  }

  #mayReport(): boolean {
    const earned = Math.floor((performance.now() - this.#refilledMs) / REFILL_MS);
    this.#allowance = Math.min(BURST, this.#allowance + earned);
    this.#refilledMs += earned * REFILL_MS;
    if (this.#allowance === 0) return false;
    this.#allowance--;
    return true;
  }
}
