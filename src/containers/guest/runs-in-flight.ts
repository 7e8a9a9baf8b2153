import type { Problem } from "../../errors.ts";
import type { GuestRun, RunListener } from "./guest-run.ts";
import { PastLogs } from "./run-log.ts";
import { RunTable } from "./run-table.ts";

/** The runs that a guest executes. A run leaves the table when it ends, and its log stays for lines that arrive late. */
export class RunsInFlight {
  readonly table: RunTable<GuestRun> = new RunTable();
  /** The logs of ended runs. */
  readonly past: PastLogs = new PastLogs();
  readonly #workMs: number;
  readonly #onLeft: (id: number) => void;

  /**
   * @param workMs the maximum time for the work that a run passed to `waitUntil`
   * @param onLeft called when a run has left the table, before its listener receives the end
   */
  constructor(workMs: number, onLeft: (id: number) => void) {
    this.#workMs = workMs;
    this.#onLeft = onLeft;
  }

  *listeners(): Generator<RunListener> {
    for (const [, { listener }] of this.table) yield listener;
  }

  /** Ends a run that has its answer, or whose client has left, unless its `waitUntil` work continues. */
  conclude(id: number, guestRun: GuestRun): void {
    if (guestRun.waits) guestRun.leaveWork(this.#workMs);
    else this.finish(id, guestRun);
  }

  /** Ends a run that has its answer. */
  finish(id: number, guestRun: GuestRun): void {
    this.#take(id, guestRun);
    guestRun.listener.over();
  }

  /** Ends a run without the guest, and answers it if it has no answer. Later frames of the run are ignored. */
  fail(id: number, problem: Problem): void {
    const guestRun = this.table.get(id);
    if (!guestRun) return;
    this.#take(id, guestRun);
    if (guestRun.answered) guestRun.log.lateProblem(problem);
    else guestRun.listener.fault(problem);
    guestRun.listener.over();
  }

  #take(id: number, guestRun: GuestRun): void {
    this.table.take(id);
    guestRun.upload?.stop();
    guestRun.transforming?.abort();
    this.past.add(id, guestRun.log);
    this.#onLeft(id);
  }
}
