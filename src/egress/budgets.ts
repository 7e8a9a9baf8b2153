import type { Refusal } from "./faults.ts";

/** The network use of a run, as its record has it. */
export interface EgressUse {
  /** The connections that the run requested and that were not refused at once. */
  connections: number;
  bytesSent: number;
  bytesReceived: number;
  /** The refused connections and lookups. */
  refused: number;
}

/** The network use of one run. */
export interface Budget {
  readonly run: number;
  /** The token family of the run. */
  readonly family: string;
  readonly listener: RunInFlight;
  readonly use: EgressUse;
  /** The connections that are open now. */
  open: number;
  /** All connections that the run requested. */
  opens: number;
  lookups: number;
  /** The bytes in both directions. */
  bytes: number;
  /** The hosts whose refusal was reported. */
  readonly reported: Set<string>;
  /** Whether the run has ended. */
  over: boolean;
}

/** The gateway's view of a run. */
export interface RunInFlight {
  /** Called for each refusal, also after the end of the run, because a lookup takes time. */
  refused(refusal: Refusal): void;
  /** Called once, when the run first uses the network. */
  usesEgress(use: EgressUse): void;
}

/** The gateway's view of the runs in flight in a guest. */
export interface RunsInFlight {
  readonly size: number;
  get(run: number): RunInFlight | null;
  /** Returns the token family of a run in flight. */
  familyOf(run: number): string;
  /** Returns the id of any run in flight, or null if there is none. */
  any(): number | null;
}

/**
 * The budgets of the runs in flight in one guest.
 *
 * The guest itself states which run connects and which run sends, and submitted code can forge that. All runs of a guest belong to one
 * isolation group with one `net` claim, so a forged id can only use up the budget of another run of that group.
 */
export class Budgets {
  readonly #runs: RunsInFlight;
  readonly #budgets: Map<number, Budget> = new Map();

  constructor(runs: RunsInFlight) {
    this.#runs = runs;
  }

  /** @returns null if no run with this id is in flight. */
  of(run: number): Budget | null {
    const listener = this.#runs.get(run);
    if (!listener) return null;
    let budget = this.#budgets.get(run);
    if (!budget) {
      const use = { connections: 0, bytesSent: 0, bytesReceived: 0, refused: 0 };
      const family = this.#runs.familyOf(run);
      budget = {
        run,
        family,
        listener,
        use,
        open: 0,
        opens: 0,
        lookups: 0,
        bytes: 0,
        reported: new Set(),
        over: false,
      };
      this.#budgets.set(run, budget);
      listener.usesEgress(use);
    }
    return budget;
  }

  /**
   * Returns the budget that bytes of a connection use, of which this run is the last sender. When the guest sends after the end of the
   * run, and names no other sender, any run in flight pays. What a server still sends to a run that has ended is not theirs.
   */
  payer(budget: Budget, direction: "bytesSent" | "bytesReceived"): Budget {
    if (!budget.over || direction === "bytesReceived") return budget;
    const nextRun = this.#runs.any();
    return (nextRun === null ? null : this.of(nextRun)) ?? budget;
  }

  end(run: number): void {
    const budget = this.#budgets.get(run);
    if (!budget) return;
    budget.over = true;
    this.#budgets.delete(run);
  }
}
