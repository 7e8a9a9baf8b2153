import type { RunLogSink } from "../../containers/guest/run-log.ts";
import type { Problem } from "../../errors.ts";
import type { Records } from "../../records/records.ts";
import type { Log, RunNames } from "../../telemetry/log.ts";
import type { RunCounts } from "../../telemetry/run-counts.ts";
import type { RunSecrets } from "../../tokens/secrets/vault.ts";
import type { RecordAnswer } from "./record-answer.ts";
import { redactionOf } from "./redactions.ts";
import type { RunTrace } from "./run-trace.ts";

export interface LogSinkParts {
  readonly log: Log;
  readonly counts: RunCounts;
  readonly records: Pick<Records, "printed">;
  readonly trace: RunTrace;
  readonly names: RunNames;
  /** The secrets that are redacted in all texts. */
  readonly secrets: RunSecrets | null;
  /** The caller that waits for the record; null if there is none. */
  readonly recorded: Pick<RecordAnswer, "onLine"> | null;
}

const ERROR_LEVEL = 3;

/** Passes the output and the late errors of a run to its record, to readers that follow the container, and to the log. */
export class LogFileSink implements RunLogSink {
  readonly #with: LogSinkParts;
  #failed = false;

  constructor(parts: LogSinkParts) {
    this.#with = parts;
  }

  log(level: number, text: Buffer): void {
    const { log, names, secrets } = this.#with;
    // Each text is redacted at most once, and only if it is kept or logged.
    let shown: string | null = null;
    const show = (): string => (shown ??= secrets ? redactionOf(secrets).text(text.toString()) : text.toString());
    this.#keep(level, text.length, show);
    log.task(names, level, show);
  }

  lateError(problem: Problem): void {
    const { log, counts, names, secrets } = this.#with;
    counts.failedUnheard++;
    const shown = secrets ? redactionOf(secrets).problem(problem) : problem;
    const text = `after the answer: ${shown.options.error?.stack ?? shown.message}`;
    this.#keep(ERROR_LEVEL, Buffer.byteLength(text), () => text);
    log.lateError(names, shown, this.#failed);
    this.#failed = true;
  }

  #keep(level: number, bytes: number, text: () => string): void {
    const { records, trace, recorded } = this.#with;
    const line = trace.print(level, bytes, text);
    if (!line) return;
    records.printed(trace.container, trace.run, line);
    recorded?.onLine?.(line);
  }
}
