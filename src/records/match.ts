import type { EndedRun } from "./ended-run.ts";
import { byNewest, type ContainerPatterns, type RunQuery } from "./query.ts";
import type { RunRecord } from "./record.ts";

/** Whether a query selects runs of this container. */
export function selectsContainer({ container, permitted }: RunQuery, name: string): boolean {
  return (container === null || container === name) && permits(permitted, name);
}

/** Whether a query selects this run of a selected container. The checks that need its record are the last. */
export function selectsRun(query: RunQuery, run: EndedRun): boolean {
  const { after, sinceMs, untilMs, statuses, task, text } = query;
  if (sinceMs !== null && run.startedMs < sinceMs) return false;
  if (untilMs !== null && run.startedMs >= untilMs) return false;
  if (after !== null && byNewest(after, run) >= 0) return false;
  if (statuses !== null && !statuses.includes(run.status)) return false;
  if (task === null && text === null) return true;
  const { record } = run.kept();
  return (task === null || record.task === task) && (text === null || contains(record, text.toLowerCase()));
}

function permits(patterns: ContainerPatterns, name: string): boolean {
  return patterns.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
}

/** Searches the same texts as the store does. */
function contains({ task, error, console }: RunRecord, text: string): boolean {
  for (const part of [task, error?.name, error?.message, error?.code])
    if (part?.toLowerCase().includes(text)) return true;
  return console.some((line) => line.text.toLowerCase().includes(text));
}
