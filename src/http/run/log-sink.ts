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
  readonly records: Pick<Records, "printed" | "hintLate">;
  readonly family: string;
  readonly names: RunNames;
  /** The secrets that are redacted in all texts. */
  readonly secrets: RunSecrets | null;
}

/** What receives the lines of a run until its end. */
export interface RecordedLines {
  readonly trace: RunTrace;
  /** The caller that waits for the record; null if there is none. */
  readonly recorded: Pick<RecordAnswer, "onLine"> | null;
}

const ERROR_LEVEL = 3;

/** Passes the output and the late errors of a run to its record, to readers that follow the container, and to the log. */
export class LogFileSink implements RunLogSink {
  readonly #with: LogSinkParts;
  /** Null after the end of the run. */
  #run: RecordedLines | null;
  #failed = false;

  constructor(parts: LogSinkParts, run: RecordedLines) {
    this.#with = parts;
    this.#run = run;
  }

  /**
   * Called when the run has ended. A guest keeps the sinks of thousands of ended runs for late lines, which go only to the log.
   * They would keep the lines and the errors of all these runs in memory, which no bound of the records counts. The secrets stay
   * for late lines; runs of a token share them.
   */
  end(): void {
    const trace = this.#run?.trace;
    // The record is made after this measurement. A rejection that nothing awaits follows the result at once.
    if (trace?.meter) void trace.measure().then(() => (this.#run = null));
    else this.#run = null;
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
    const { log, counts, family, names, secrets } = this.#with;
    counts.failedUnheard++;
    const shown = secrets ? redactionOf(secrets).problem(problem) : problem;
    const text = `after the answer: ${shown.options.error?.stack ?? shown.message}`;
    const { hint } = shown.options;
    if (this.#run?.trace.endedMs === 0) {
      if (hint !== undefined && this.#run.trace.hint === null) this.#run.trace.hinted(hint);
    } else if (!this.#failed) this.#hintLate(shown);
    this.#keep(ERROR_LEVEL, Buffer.byteLength(text), () => text);
    log.lateError(family, names, shown, this.#failed);
    this.#failed = true;
  }

  #hintLate(problem: Problem): void {
    const hint = lateHint(problem);
    const { container, run } = this.#with.names;
    if (this.#run) this.#run.trace.hintLate(hint);
    else this.#with.records.hintLate(container, run, hint);
  }

  #keep(level: number, bytes: number, text: () => string): void {
    if (!this.#run) return;
    const { trace, recorded } = this.#run;
    const line = trace.print(level, bytes, text);
    if (!line) return;
    this.#with.records.printed(trace.container, trace.run, line);
    recorded?.onLine?.(line);
  }
}

/** The most characters of a failure in the hint of a record. The log has all of them. */
const MAX_LATE_CHARACTERS = 400;

function lateHint({ message, options: { at } }: Problem): string {
  const what = message.length > MAX_LATE_CHARACTERS ? `${message.slice(0, MAX_LATE_CHARACTERS)}…` : message;
  const where = at ? ` (${at.file}, line ${at.line})` : "";
  return `The run failed ${what}${where}. Await this work before the result, or pass its promise to context.waitUntil.`;
}
