import type { RunRecord, RunStatus } from "./record.ts";
import type { FailureGroup } from "./store.ts";

/** The most characters of each text of a group. */
const MOST_TEXT = 500;
const UNFAILED: ReadonlySet<RunStatus> = new Set(["running", "ok", "cancelled", "interrupted"]);

/** Returns whether the status is one that the list of failures counts. */
export function isFailure(status: RunStatus): boolean {
  return !UNFAILED.has(status);
}

/** Returns the group of a single failed run. */
export function failureOf({
  run,
  container,
  task,
  status,
  error,
  startedAt,
}: Omit<RunRecord, "console">): FailureGroup {
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

/** Returns a text that is equal for groups of the same cause. */
export function causeOf({ container, task, code, name, frame }: FailureGroup): string {
  return JSON.stringify([container, task, code, name, frame]);
}

function cut(text: string): string {
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT).toWellFormed()}…`;
}
