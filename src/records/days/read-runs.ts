import { DayFolder } from "./day-folder.ts";
import { findRun } from "./find-run.ts";
import { groupFailures } from "./group-failures.ts";
import { listRuns } from "./list-runs.ts";
import type { ReadRequest, Reply } from "./messages.ts";

/** Reads stored records, in the thread that reads. @throws the error of SQLite if a later read may succeed. */
export function readRuns({ folder: name, question }: ReadRequest): Reply {
  const folder = new DayFolder(name);
  if (question.kind === "get") return findRun(folder, question.container, question.run);
  if (question.kind === "list") return listRuns(folder, question.query, question.reader);
  return groupFailures(folder, question.query);
}
