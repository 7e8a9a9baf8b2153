import { randomUUID } from "node:crypto";

import { DayFolder } from "./day-folder.ts";
import { findRun } from "./find-run.ts";
import { groupFailures } from "./group-failures.ts";
import { listRuns } from "./list-runs.ts";
import type { Question, ReadRequest, Reply, SteppedRead, StepReply } from "./thread-messages.ts";

/**
 * Reads stored records, in the thread that reads. Each request is one step of a read, so that a search through all records of
 * one family makes the reads of others wait for a step, and not for all of it.
 */
export class RunReads {
  readonly #stepMs: number | undefined;
  /** The reads that are not done. A family has a few at a time. */
  readonly #rests = new Map<string, SteppedRead>();

  /** @param stepMs the time of a step, if it is not the usual time */
  constructor(stepMs?: number) {
    this.#stepMs = stepMs;
  }

  /** @throws the error of SQLite if a later read may succeed, or an error if the rest was in a thread that is lost. */
  fulfil(request: ReadRequest): StepReply {
    if ("question" in request) {
      const begun = this.#begin(new DayFolder(request.folder), request.question);
      return "json" in begun ? begun : this.#step(begun);
    }
    const rest = this.#rests.get(request.rest);
    if (!rest) throw new Error("the rest of the read is lost");
    this.#rests.delete(request.rest);
    return this.#step(rest);
  }

  #begin(folder: DayFolder, question: Question): SteppedRead | Reply {
    if (question.kind === "get") return findRun(folder, question.container, question.run);
    if (question.kind === "list") return listRuns(folder, question.query, question.reader, this.#stepMs);
    return groupFailures(folder, question.query, this.#stepMs);
  }

  #step(read: SteppedRead): StepReply {
    const { done, value } = read.next();
    if (done) return value;
    // Random, because a thread that was started again must not take it for the rest of another read.
    const rest = randomUUID();
    this.#rests.set(rest, read);
    return { rest };
  }
}
