import { isFailure } from "../failure-cause.ts";
import type { Cursor, RunQuery } from "../query.ts";
import type { DayFolder } from "./day-folder.ts";
import type { SteppedRead } from "./thread-messages.ts";
import { type FoundRun, Walk } from "./walk.ts";

/** The most entries of a page. */
const MOST_ENTRIES = 1_000;
/** The most bytes of a page. The thread of the service parses it in two or three milliseconds. */
const PAGE_BYTES = 512 * 2 ** 10;

/** Reads a page of stored runs, as the JSON of a `StoredPage`. */
export function* listRuns(folder: DayFolder, query: RunQuery, reader: string, stepMs?: number): SteppedRead {
  // What is left out of containers without a name may not be of the one container of a query.
  const ofReader = query.container === null ? reader : null;
  const walk = new Walk(
    folder,
    query,
    { failedOnly: hasOnlyFailures(query), reader: ofReader },
    { ...(stepMs !== undefined && { stepMs }) },
  );
  const count = Math.min(Math.max(query.count, 1), MOST_ENTRIES);
  const page: FoundRun[] = [];
  let bytes = 0;
  let next: Cursor | null = null;
  for (const found of walk.runs()) {
    if (found === null) {
      yield;
      continue;
    }
    bytes += found.json.length;
    // The page ends before a run that exists, so the last page has no cursor to an empty one.
    if (page.length === count || (page.length > 0 && bytes > PAGE_BYTES)) {
      const { startedMs, run } = page.at(-1)!;
      next = { startedMs, run };
      break;
    }
    page.push(found);
  }
  const runs = page.map(({ startedMs, json }) => `{"startedMs":${startedMs},"entry":${json}}`);
  const end = JSON.stringify({ next: next ?? walk.stoppedAt, omitted: walk.omitted });
  return { json: `{"runs":[${runs.join(",")}],${end.slice(1)}`, unreadable: walk.unreadable };
}

function hasOnlyFailures({ statuses }: RunQuery): boolean {
  return statuses !== null && statuses.every(isFailure);
}
