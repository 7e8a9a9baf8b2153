import { parentPort, workerData } from "node:worker_threads";

import { reasonOf } from "../sqlite-fault.ts";
import { DayFolder } from "./day-folder.ts";
import { findRun } from "./find-run.ts";
import { groupFailures } from "./group-failures.ts";
import { listRuns } from "./list-runs.ts";
import type { FromReader, Reply, ToReader } from "./messages.ts";

/** The thread that `RecordReader` starts. It does one read at a time. */
const folder = new DayFolder(String(workerData));
parentPort!.on("message", (question: ToReader) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage(answer(question));
});

function answer(question: ToReader): FromReader {
  try {
    return { kind: "answer", ...read(question) };
  } catch (error) {
    return { kind: "failed", reason: reasonOf(error) };
  }
}

function read(question: ToReader): Reply {
  if (question.kind === "get") return findRun(folder, question.container, question.run);
  if (question.kind === "list") return listRuns(folder, question.query, question.reader);
  return groupFailures(folder, question.query);
}
