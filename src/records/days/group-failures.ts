import type { RunQuery } from "../query.ts";
import { type RunEntry, RUN_STATUSES } from "../record.ts";
import type { FailureGroup } from "../store.ts";
import type { DayFolder } from "./day-folder.ts";
import type { Reply } from "./messages.ts";
import { isFailure } from "./stored-row.ts";
import { Walk } from "./walk.ts";

/** The most groups. A task can throw another error each time. */
const MOST_GROUPS = 500;
/** The most characters of each text of a group. */
const MOST_TEXT = 500;

/** Groups failures by their cause, as the JSON of an answer of `failures`. The cause that occurred last comes first. */
export function groupFailures(folder: DayFolder, query: RunQuery): Reply {
  const statuses = (query.statuses ?? RUN_STATUSES).filter(isFailure);
  const walk = new Walk(folder, { ...query, statuses }, { failedOnly: true, reader: null });
  const groups = new Map<string, { -readonly [Member in keyof FailureGroup]: FailureGroup[Member] }>();
  let isComplete = true;
  for (const { entry } of walk.runs()) {
    const failure = failureOf(entry);
    const { container, task, code, name, frame } = failure;
    const key = JSON.stringify([container, task, code, name, frame]);
    const group = groups.get(key);
    if (group) {
      group.count += 1;
      group.firstAt = failure.firstAt;
    } else if (groups.size < MOST_GROUPS) groups.set(key, failure);
    else isComplete = false;
  }
  const complete = isComplete && walk.stoppedAt === null && walk.unreadable.length === 0;
  return { json: JSON.stringify({ groups: [...groups.values()], complete }), unreadable: walk.unreadable };
}

function failureOf({ run, container, task, status, error, startedAt }: RunEntry): FailureGroup {
  const at = error?.at ?? null;
  return {
    container,
    task,
    code: error?.code ?? status,
    name: error?.name == null ? null : cut(error.name),
    frame: at && `${cut(at.file)}:${at.line}`,
    message: cut(error?.message ?? ""),
    count: 1,
    firstAt: startedAt,
    lastAt: startedAt,
    run,
  };
}

function cut(text: string): string {
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT).toWellFormed()}…`;
}
