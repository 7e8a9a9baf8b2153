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

/** The time after which code of a run that was left may use as much again, in milliseconds: the longest that most runs take. */
const LEFT_MS = 30_000;
/** The budgets of left runs that are kept for one guest. */
const MOST_LEFT = 128;

/** The network use of one run. */
export interface Budget {
  readonly run: number;
  /** The token family of the run. */
  readonly family: string;
  /** Null for a run that first used the network after its caller had left. */
  readonly listener: RunInFlight | null;
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
  /** When the run was left, or its code last received a new budget, on the clock of `performance.now()`; null if it was not left. */
  leftMs: number | null;
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
  /** Returns the token family of a run in flight, or of a run that was left; null for other runs. */
  familyOf(run: number): string | null;
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
  readonly #left: Map<number, Budget> = new Map();

  constructor(runs: RunsInFlight) {
    this.#runs = runs;
  }

  /** @returns null if no run with this id is in flight, or was left while others are in flight. */
  of(run: number): Budget | null {
    const listener = this.#runs.get(run);
    if (!listener) return this.#ofLeft(run);
    let budget = this.#budgets.get(run);
    if (!budget) {
      budget = newBudget(run, this.#runs.familyOf(run)!, listener);
      this.#budgets.set(run, budget);
      listener.usesEgress(budget.use);
    }
    return budget;
  }

  /** Code whose caller has left uses no budget of another run. Connections close when the guest has no run. */
  #ofLeft(run: number): Budget | null {
    const family = this.#runs.familyOf(run);
    if (family === null || this.#runs.size === 0) return null;
    const nowMs = performance.now();
    const budget = this.#left.get(run) ?? { ...newBudget(run, family, null), over: true, leftMs: nowMs };
    if (nowMs - budget.leftMs! >= LEFT_MS) Object.assign(budget, { opens: 0, lookups: 0, bytes: 0, leftMs: nowMs });
    this.#keep(budget);
    return budget;
  }

  #keep(budget: Budget): void {
    this.#left.set(budget.run, budget);
    if (this.#left.size > MOST_LEFT) this.#left.delete(this.#left.keys().next().value!);
  }

  /**
   * Returns the budget that bytes of a connection use, of which this run is the last sender. When the guest sends after the end of the
   * run, and names no other sender, any run in flight pays, unless the run was left. What a server still sends to a run that has ended is
   * not theirs.
   */
  payer(budget: Budget, direction: "bytesSent" | "bytesReceived"): Budget {
    if (!budget.over || budget.leftMs !== null || direction === "bytesReceived") return budget;
    const nextRun = this.#runs.any();
    return (nextRun === null ? null : this.of(nextRun)) ?? budget;
  }

  end(run: number): void {
    const budget = this.#budgets.get(run);
    if (!budget) return;
    budget.over = true;
    this.#budgets.delete(run);
    if (this.#runs.familyOf(run) === null) return;
    budget.leftMs = performance.now();
    this.#keep(budget);
  }
}

function newBudget(run: number, family: string, listener: RunInFlight | null): Budget {
  const use = { connections: 0, bytesSent: 0, bytesReceived: 0, refused: 0 };
  const counts = { open: 0, opens: 0, lookups: 0, bytes: 0 };
  return { run, family, listener, use, ...counts, reported: new Set(), over: false, leftMs: null };
}
