import { Slices } from "../next-turn.ts";
import type { EndedRun } from "./ended-run.ts";
import { selectsContainer, selectsRun } from "./match.ts";
import { byNewest, type RunQuery } from "./query.ts";
import type { RecentRuns } from "./recent.ts";

/** How many times more runs than wanted are collected before the oldest are removed. */
const SURPLUS = 4;

/**
 * Returns the newest runs in memory that a query selects, in order. It works in slices, because the memory may hold a
 * hundred thousand runs, and a search for a text makes their records.
 *
 * @param most the most runs that are returned
 * @param holder the `holder` argument of `nextTurn`
 */
export async function newestOf(
  recent: RecentRuns,
  query: RunQuery,
  most: number,
  holder: string,
): Promise<readonly EndedRun[]> {
  // By id, because a container that is evicted and added again during the search is visited twice.
  const found = new Map<string, EndedRun>();
  let oldest: EndedRun | null = null;
  await eachRun(recent, query, holder, (run) => {
    if (oldest !== null && byNewest(oldest, run) < 0) return;
    if (!selectsRun(query, run)) return;
    found.set(run.run, run);
    if (found.size <= most * SURPLUS) return;
    const kept = newest(found, most);
    oldest = kept.at(-1)!;
    found.clear();
    for (const each of kept) found.set(each.run, each);
  });
  return newest(found, most);
}

/**
 * Calls `visit` for each run in memory of the containers that a query selects, and for a run possibly twice. It may leave
 * out a run that ends during the visit.
 *
 * @param holder the `holder` argument of `nextTurn`
 */
export async function eachRun(
  recent: RecentRuns,
  query: RunQuery,
  holder: string,
  visit: (run: EndedRun) => void,
): Promise<void> {
  const slices = new Slices(holder);
  const { container } = query;
  // A copy, because new names would make the loop longer.
  for (const name of container === null ? [...recent.names()] : [container]) {
    if (slices.hasEnded) await slices.next();
    if (!selectsContainer(query, name)) continue;
    // A copy, because the array may change between two slices.
    for (const run of [...recent.of(name)]) {
      if (slices.hasEnded) await slices.next();
      visit(run);
    }
  }
}

function newest(runs: ReadonlyMap<string, EndedRun>, most: number): EndedRun[] {
  return [...runs.values()].toSorted(byNewest).slice(0, most);
}
