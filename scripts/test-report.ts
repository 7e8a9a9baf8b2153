import type { TestEvent } from "node:test/reporters";
/**
 * A reporter of `node:test` for scripts/run-tests.ts, in the process of a test file: it writes the counts and times as JSON,
 * and ends a file that does not end by itself.
 */
import { setTimeout as startTimer } from "node:timers";
import { inspect } from "node:util";

export interface Report {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** By file, in milliseconds: how long its tests took. */
  readonly durations: Readonly<Record<string, number>>;
}

/**
 * A hook that fails may leave open what it had opened, and then the process would never end: no time limit of `node:test` is
 * for that. So long may a file take between two tests, and to its end after the last one: it stops services and servers.
 */
const IDLE_MS = Number(process.env["TEST_IDLE_MS"] ?? 60_000);

/** What went wrong so far: the reporter for people tells that at the very end. */
const faults: string[] = [];

// What a file started ends in its handlers of `exit`, which a signal alone does not call.
process.once("SIGTERM", () => giveUp("it was told to end"));

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const durations: Record<string, number> = {};
  let running = 0;
  let idle: NodeJS.Timeout | undefined;
  for await (const { type, data } of events) {
    clearTimeout(idle);
    // A test within another that is not run at all completes and never begins.
    if (type === "test:dequeue" && data.nesting === 0) running += 1;
    if (type === "test:complete" && data.nesting === 0) running -= 1;
    if (running === 0) idle = startTimer(() => giveUp(`its tests have been over for ${IDLE_MS} ms`), IDLE_MS).unref();
    if (type === "test:fail") faults.push(`${data.name}: ${inspect(data.details.error.cause ?? data.details.error)}\n`);
    if ((type === "test:pass" || type === "test:fail") && data.nesting === 0 && data.file !== undefined) {
      durations[data.file] = (durations[data.file] ?? 0) + data.details.duration_ms;
    }
    // That of all files together is the last.
    if (type === "test:summary") {
      const { tests, passed, skipped, todo } = data.counts;
      const failed = tests - passed - skipped - todo;
      yield `${JSON.stringify({ passed, failed, skipped: skipped + todo, durations } satisfies Report)}\n`;
    }
  }
}

function giveUp(why: string): void {
  const open = process.getActiveResourcesInfo().join(", ");
  process.stderr.write(`${faults.join("")}${process.argv[1]} does not end: ${why}. Open: ${open}\n`);
  process.exit(1);
}
