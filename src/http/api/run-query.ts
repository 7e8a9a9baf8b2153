import { membersProblem } from "../../members.ts";
import { byNewest, type Cursor, HIGHEST_RUN, type RunQuery } from "../../records/query.ts";
import type { Caller } from "../../tokens/caller.ts";
import { containerName, taskName } from "../target.ts";
import { mustRead } from "./may-read.ts";
import { ALL_RUNS_PAGE, type AllRunsPage, FAILURES, RUN_PAGE } from "./queries.ts";
import { readQuery } from "./read-query.ts";
import type { Call } from "./route.ts";

/**
 * Reads which page of runs a request selects.
 *
 * @param container the container of the path; null if the query may contain it
 * @throws {Problem} `request_invalid`, which names the parameter; `container_invalid`, `token_forbidden`
 */
export function readListQuery(call: Call, container: string | null, by: Caller): RunQuery {
  const target = call.env.incoming.url!;
  const query = container === null ? readQuery(target, ALL_RUNS_PAGE) : { ...readQuery(target, RUN_PAGE), container };
  return selected(query, by);
}

/** Reads which failures a request selects. @throws {Problem} as `readListQuery` does */
export function readFailureQuery(call: Call, by: Caller): RunQuery {
  return selected({ ...readQuery(call.env.incoming.url!, FAILURES), limit: 0 }, by);
}

/** Returns a cursor as `next` of an answer. */
export function textOf({ startedMs, run }: Cursor): string {
  return `${startedMs}.${run}`;
}

/**
 * Returns the part of a query from its newest run to the millisecond after a position, which several nodes can count alike, and
 * the cursor of the next page; null if that would be no progress.
 */
export function untilTime(query: RunQuery, { startedMs }: Cursor): { query: RunQuery; next: Cursor } | null {
  const next = { startedMs, run: HIGHEST_RUN };
  if (query.after !== null && byNewest(query.after, next) >= 0) return null;
  // Runs that begin meanwhile would let a node end sooner again.
  return { query: { ...query, sinceMs: startedMs + 1, untilMs: query.untilMs ?? Date.now() }, next };
}

/** Returns the request for failures that selects these. */
export function targetOfFailures({ container, task, sinceMs, untilMs, after }: RunQuery): string {
  const search = new URLSearchParams();
  if (container !== null) search.set("container", container);
  if (task !== null) search.set("task", task);
  if (sinceMs !== null) search.set("since", new Date(sinceMs).toISOString());
  if (untilMs !== null) search.set("until", new Date(untilMs).toISOString());
  if (after !== null) search.set("cursor", textOf(after));
  return `/api/failures?${search.toString()}`;
}

function selected(query: AllRunsPage, by: Caller): RunQuery {
  const container = query.container === undefined ? null : containerName(query.container);
  mustRead(by, container);
  if (query.since !== undefined && query.until !== undefined && query.since >= query.until) {
    const detail = "is not before until; a duration is before now, so until=1h is later than until=2h";
    throw membersProblem("the query", [{ member: "since", detail }]);
  }
  return {
    container,
    task: query.task === undefined ? null : taskName(query.task),
    statuses: query.status ?? null,
    sinceMs: query.since ?? null,
    untilMs: query.until ?? null,
    text: query.q || null,
    after: query.cursor ?? null,
    count: query.limit,
    permitted: by.claims.admin ? ["*"] : by.claims.containers,
  };
}
