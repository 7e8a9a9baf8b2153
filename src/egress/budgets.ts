import type { Refusal } from "./faults.ts";

/** What one run has used of the way out. */
export interface Budget {
  readonly run: number;
  readonly listener: RunInFlight;
  /** Connections that it has open. */
  open: number;
  /** Connections that it has asked for, in all. */
  opens: number;
  lookups: number;
  /** Both directions. */
  bytes: number;
  /** Hosts whose refusal was reported. */
  readonly reported: Set<string>;
  /** The run is over. */
  over: boolean;
}

/** One run, as the gateway sees it. */
export interface RunInFlight {
  /** It was refused something. Also after its end: what it asked for may take time to find out. */
  refused(refusal: Refusal): void;
}

/** The runs that are in flight in a guest, as the gateway sees them. */
export interface RunsInFlight {
  readonly size: number;
  get(run: number): RunInFlight | null;
  /** One of them, or null when there is none. */
  any(): number | null;
}

/**
 * The budgets of the runs in flight in one guest.
 *
 * A guest says itself which run it is that connects, and submitted code can forge that. All runs of a guest are of one
 * party, under one `net` claim: a forged id can only cost another run of the same party its budget.
 */
export class Budgets {
  readonly #runs: RunsInFlight;
  readonly #budgets: Map<number, Budget> = new Map();

  constructor(runs: RunsInFlight) {
    this.#runs = runs;
  }

  /** @returns null when no such run is in flight. */
  of(run: number): Budget | null {
    const listener = this.#runs.get(run);
    if (!listener) return null;
    let budget = this.#budgets.get(run);
    if (!budget) {
      budget = { run, listener, open: 0, opens: 0, lookups: 0, bytes: 0, reported: new Set(), over: false };
      this.#budgets.set(run, budget);
    }
    return budget;
  }

  /** Who pays for a connection of this run. When it is over that is a run in flight, which then uses the connection. */
  payer(budget: Budget): Budget {
    if (!budget.over) return budget;
    const heir = this.#runs.any();
    return (heir === null ? null : this.of(heir)) ?? budget;
  }

  end(run: number): void {
    const budget = this.#budgets.get(run);
    if (!budget) return;
    budget.over = true;
    this.#budgets.delete(run);
  }
}
