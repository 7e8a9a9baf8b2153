import { causeOf, failureOf, isFailure } from "../failure.ts";
import type { RunQuery } from "../query.ts";
import { RUN_STATUSES } from "../record.ts";
import type { FailureGroup } from "../store.ts";
import type { DayFolder } from "./day-folder.ts";
import type { Reply } from "./messages.ts";
import { Walk } from "./walk.ts";

/** The most groups. A task can throw another error each time. */
const MOST_GROUPS = 500;

/** Groups failures by their cause, as the JSON of an answer of `failures`. The cause that occurred last comes first. */
export function groupFailures(folder: DayFolder, query: RunQuery): Reply {
  const statuses = (query.statuses ?? RUN_STATUSES).filter(isFailure);
  const walk = new Walk(folder, { ...query, statuses }, { failedOnly: true, reader: null });
  const groups = new Map<string, { -readonly [Member in keyof FailureGroup]: FailureGroup[Member] }>();
  let isComplete = true;
  for (const { entry } of walk.runs()) {
    const failure = failureOf(entry);
    const cause = causeOf(failure);
    const group = groups.get(cause);
    if (group) {
      group.count += 1;
      group.firstAt = failure.firstAt;
    } else if (groups.size < MOST_GROUPS) groups.set(cause, failure);
    else isComplete = false;
  }
  const complete = isComplete && walk.stoppedAt === null && walk.unreadable.length === 0;
  return { json: JSON.stringify({ groups: [...groups.values()], complete }), unreadable: walk.unreadable };
}
