import { causeOf, failureOf, isFailure } from "../failure-cause.ts";
import type { Cursor, RunQuery } from "../query.ts";
import { RUN_STATUSES } from "../record.ts";
import type { FailureGroup, FailurePage } from "../store.ts";
import type { DayFolder } from "./day-folder.ts";
import type { SteppedRead } from "./thread-messages.ts";
import { Walk } from "./walk.ts";

/** The most groups. A task can throw another error each time. */
const MOST_GROUPS = 500;

/**
 * Groups failures by their cause, as the JSON of a `FailurePage`. The cause that occurred last comes first. The page ends where
 * the walk ends, or before the first failure whose cause has no place.
 */
export function* groupFailures(folder: DayFolder, query: RunQuery, stepMs?: number): SteppedRead {
  const statuses = (query.statuses ?? RUN_STATUSES).filter(isFailure);
  const walk = new Walk(
    folder,
    { ...query, statuses },
    { failedOnly: true, reader: null },
    { ...(stepMs !== undefined && { stepMs }) },
  );
  const groups = new Map<string, { -readonly [Member in keyof FailureGroup]: FailureGroup[Member] }>();
  let last: Cursor | null = null;
  let isFull = false;
  for (const found of walk.runs()) {
    if (found === null) {
      yield;
      continue;
    }
    const { entry, startedMs, run } = found;
    const failure = failureOf(entry);
    const cause = causeOf(failure);
    const group = groups.get(cause);
    if (group) {
      group.count += 1;
      group.firstAt = failure.firstAt;
    } else if (groups.size < MOST_GROUPS) groups.set(cause, failure);
    else {
      isFull = true;
      break;
    }
    last = { startedMs, run };
  }
  const next = isFull ? last : walk.stoppedAt;
  const complete = next === null && walk.unreadable.length === 0;
  return {
    json: JSON.stringify({ groups: [...groups.values()], complete, next } satisfies FailurePage),
    unreadable: walk.unreadable,
  };
}
