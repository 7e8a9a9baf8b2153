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

/** The id of code without a run. */
const NO_RUN = 0;
/** The time after which code of ended runs may use as much again, in milliseconds: the longest that most runs take. */
const RENEWAL_MS = 30_000;
/** The families with a budget for ended runs. The ended runs of further families count for the family of the guest. */
const MAX_FAMILIES = 64;

/** The network use of one run, or of the code of ended runs. */
export interface Budget {
  readonly run: number;
  /** The number of runs whose limits it has together: 1 for a run. */
  runs: number;
  /** The token family of the run. */
  readonly family: string;
  /** Null for the code of ended runs. */
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
  /** Whether a run with this id has ended. */
  had(run: number): boolean;
  /** Returns the token family of a run in flight, or of one that has ended lately; otherwise null. */
  familyOf(run: number): string | null;
  /** The token family that the guest counts for. */
  readonly ownerFamily: string;
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
  /** By token family. */
  readonly #ended: Map<string, EndedRuns> = new Map();
  /** The budget of code whose run ended long ago, and of code without a run. */
  #unknown: EndedRuns | null = null;

  constructor(runs: RunsInFlight) {
    this.#runs = runs;
  }

  /**
   * @param run the id of a run. If it is not in flight, its code goes on after its end; 0 is code without a run
   * @returns null if no run is in flight, or if there was never a run with this id
   */
  of(run: number): Budget | null {
    const listener = this.#runs.get(run);
    if (!listener) {
      const isKnown = run === NO_RUN || this.#runs.had(run);
      return isKnown && this.#runs.size > 0 ? this.#ofEnded(this.#runs.familyOf(run)) : null;
    }
    let budget = this.#budgets.get(run);
    if (!budget) {
      budget = newBudget(run, this.#runs.familyOf(run)!, listener);
      this.#budgets.set(run, budget);
      listener.usesEgress(budget.use);
    }
    return budget;
  }

  /**
   * Returns the budget that bytes of a connection use, of which this run is the last sender. What the guest sends after the end of the
   * run counts for code of ended runs. What a server still sends to a run that has ended does not.
   */
  payer(budget: Budget, direction: "bytesSent" | "bytesReceived"): Budget {
    return budget.over && direction === "bytesSent" ? this.#ofEnded(budget.family) : budget;
  }

  /** @param family the token family of the run */
  end(run: number, family: string): void {
    this.#endedOf(family)?.add();
    const budget = this.#budgets.get(run);
    if (!budget) return;
    budget.over = true;
    this.#budgets.delete(run);
  }

  #ofEnded(family: string | null): Budget {
    const ended = family === null ? null : this.#endedOf(family);
    return (ended ?? (this.#unknown ??= new EndedRuns(this.#runs.ownerFamily))).budget();
  }

  /** @returns null if too many families have runs in the guest */
  #endedOf(family: string): EndedRuns | null {
    let ended = this.#ended.get(family);
    if (!ended) {
      if (this.#ended.size >= MAX_FAMILIES) return null;
      ended = new EndedRuns(family);
      this.#ended.set(family, ended);
    }
    return ended;
  }
}

/**
 * The budget of all code of one family whose run has ended: what goes on after an answer, or after its caller has left, and pools that
 * reconnect in the context of the run that used them first. It uses no budget of a run in flight. It has the limits of the runs of the family that
 * have ended lately together: a pool that many runs use reconnects for each of them, and any of these runs waits for it.
 */
class EndedRuns {
  readonly #budget: Budget;
  #renewedMs = performance.now();
  /** The runs that have ended since the budget was renewed, and in the time before. */
  #count = 0;
  #countBefore = 0;

  constructor(family: string) {
    this.#budget = { ...newBudget(0, family, null), over: true };
  }

  add(): void {
    this.#count += 1;
  }

  budget(): Budget {
    const elapsedMs = performance.now() - this.#renewedMs;
    if (elapsedMs >= RENEWAL_MS) {
      Object.assign(this.#budget, { opens: 0, lookups: 0, bytes: 0 });
      this.#countBefore = elapsedMs < 2 * RENEWAL_MS ? this.#count : 0;
      this.#count = 0;
      this.#renewedMs += elapsedMs;
    }
    this.#budget.runs = 1 + this.#count + this.#countBefore;
    return this.#budget;
  }
}

/** Returns the beginning of a sentence about what uses a budget. */
export function userOf({ listener }: Budget): string {
  return listener === null ? "code of ended runs has" : "the run has";
}

function newBudget(run: number, family: string, listener: RunInFlight | null): Budget {
  const use = { connections: 0, bytesSent: 0, bytesReceived: 0, refused: 0 };
  const counts = { open: 0, opens: 0, lookups: 0, bytes: 0 };
  return { run, runs: 1, family, listener, use, ...counts, reported: new Set(), over: false };
}
