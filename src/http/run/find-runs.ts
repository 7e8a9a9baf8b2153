import type { Guest } from "../../containers/guest/guest.ts";
import { Problem } from "../../errors.ts";
import type { Caller } from "../../tokens/caller.ts";
import { Execution } from "./execution.ts";
import type { RunTrace } from "./run-trace.ts";

/** The guests of the service. */
type Guests = Iterable<Pick<Guest, "listeners">>;

/**
 * Returns the runs in flight. They are looked up in the guests, so that runs cost nothing here.
 *
 * @param container the name of a container, or null for all containers
 */
export function runningIn(guests: Guests, container: string | null): RunTrace[] {
  return [...executionsIn(guests, container)].map(({ trace }) => trace);
}

/**
 * Cancels a run that the token or a token below it has started. An administrator may cancel every run.
 *
 * @returns false if there is no such run in flight. A run of another token is treated the same, so that the answer does not
 *   tell whether it exists.
 */
export function cancelRun(guests: Guests, container: string, run: string, by: Caller): boolean {
  for (const execution of executionsIn(guests, container)) {
    const { trace } = execution;
    if (trace.run !== run) continue;
    if (!by.claims.admin && !trace.lineage.includes(by.claims.jti)) return false;
    execution.cancel(new Problem("run_cancelled", "the run was cancelled by a request"));
    return true;
  }
  return false;
}

/** Ends the runs of a container at once. Their guests take no new run. */
export function endRuns(guests: Guests, container: string, problem: Problem): void {
  for (const execution of [...executionsIn(guests, container)]) execution.kill(problem);
}

function* executionsIn(guests: Guests, container: string | null): Generator<Execution> {
  for (const guest of guests) {
    for (const listener of guest.listeners()) {
      if (!(listener instanceof Execution)) continue;
      if (container === null || listener.trace.container === container) yield listener;
    }
  }
}
