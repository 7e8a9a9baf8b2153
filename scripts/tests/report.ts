import type { TestEvent } from "node:test/reporters";
/**
 * A reporter of `node:test` for scripts/run-tests.ts, in the process of a test file: it writes the counts and times as JSON,
 * and ends a file that does not end by itself.
 */
import { setTimeout as startTimer } from "node:timers";
import { inspect } from "node:util";

import { usedProcessorMs } from "./processor-time.ts";

export interface Report {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The duration of each file's tests, in milliseconds. */
  readonly durations: Readonly<Record<string, number>>;
  /** The processor time of this process and all that it has started, in milliseconds. */
  readonly processorMs: number;
}

/**
 * The maximum time between two tests, and after the last test, in which a file stops services and servers. A failed hook may
 * leave a resource open, and then the process would never end. `node:test` has no time limit for that.
 */
const IDLE_MS = Number(process.env["TEST_IDLE_MS"] ?? 60_000);

/** The failures so far. The human-readable reporter prints them only at the end. */
const faults: string[] = [];

// A signal alone does not call the `exit` handlers, in which a file ends what it started.
process.once("SIGTERM", () => giveUp("it received SIGTERM"));

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const durations: Record<string, number> = {};
  let running = 0;
  let idle: NodeJS.Timeout | undefined;
  for await (const { type, data } of events) {
    clearTimeout(idle);
    // A nested test that is not run at all completes without a start.
    if (type === "test:dequeue" && data.nesting === 0) running += 1;
    if (type === "test:complete" && data.nesting === 0) running -= 1;
    if (running === 0) idle = startTimer(() => giveUp(`its tests have been over for ${IDLE_MS} ms`), IDLE_MS).unref();
    if (type === "test:fail") faults.push(`${data.name}: ${inspect(data.details.error.cause ?? data.details.error)}\n`);
    if ((type === "test:pass" || type === "test:fail") && data.nesting === 0 && data.file !== undefined) {
      durations[data.file] = (durations[data.file] ?? 0) + data.details.duration_ms;
    }
    // The summary of all files together is the last.
    if (type === "test:summary") {
      const { tests, passed, skipped, todo } = data.counts;
      const failed = tests - passed - skipped - todo;
      const processorMs = usedProcessorMs();
      yield `${JSON.stringify({ passed, failed, skipped: skipped + todo, durations, processorMs } satisfies Report)}\n`;
    }
  }
}

function giveUp(why: string): void {
  const open = process.getActiveResourcesInfo().join(", ");
  process.stderr.write(`${faults.join("")}${process.argv[1]} does not end: ${why}. Open: ${open}\n`);
  process.exit(1);
}
