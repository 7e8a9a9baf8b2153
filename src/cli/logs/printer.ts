import type { ConsoleLine, RunRecord } from "../../../client/src/index.ts";
import { printable, printableJson, printableLines } from "../print/printable.ts";
import { timeText } from "../print/texts.ts";
import { filesOfTask, runErrorLines } from "../runs/error-lines.ts";

/** The parts of a record that a log shows. */
export type LoggedRun = Pick<RunRecord, "run" | "task" | "version" | "status" | "startedAt" | "ms" | "error" | "hint">;

/** Prints console lines and the ends of runs. Lines of one run that follow each other have one heading. */
export class LogPrinter {
  readonly #json: boolean;
  readonly #write: (text: string) => void;
  #heading: string | null = null;

  constructor(json: boolean, write: (text: string) => void) {
    this.#json = json;
    this.#write = write;
  }

  /** Prints a line of a run. */
  line(run: string, { atMs, level, text }: ConsoleLine, known?: LoggedRun): void {
    if (this.#json) return this.#write(`${printableJson({ type: "console", run, atMs, level, text }, 0)}\n`);
    this.#head(run, known);
    const head = `${timeHead(atMs)}${printable(level).padEnd(5)}  `;
    for (const each of printableLines(text)) this.#write(`${head}${each}\n`);
  }

  /** Prints the end of a run, with its error. */
  end(record: LoggedRun): void {
    if (this.#json) return this.#write(`${printableJson({ type: "record", record }, 0)}\n`);
    const { run, status, ms, error, hint } = record;
    this.#head(run, record);
    this.#write(`${timeHead(ms.run)}${status}\n`);
    const lines =
      error !== null
        ? runErrorLines(error, filesOfTask(record.task))
        : status === "ok" && hint !== null
          ? printableLines(hint)
          : [];
    for (const line of lines) this.#write(`    ${line}\n`);
  }

  /** Prints a note about missing lines. */
  lost(detail: string): void {
    if (this.#json) return this.#write(`${printableJson({ type: "lost", detail }, 0)}\n`);
    this.#heading = null;
    this.#write(`(${printable(detail)})\n`);
  }

  #head(run: string, known: LoggedRun | undefined): void {
    if (this.#heading === run) return;
    this.#heading = run;
    const { task = null, version = null, startedAt = null } = known ?? {};
    const what = task === null ? "" : `  ${task} v${version}`;
    this.#write(`${printable(`${startedAt === null ? "now" : timeText(startedAt)}  ${run}${what}`)}\n`);
  }
}

/** Milliseconds since the start of the run, also for the end of long runs, so that they can be compared. */
function timeHead(ms: number | null): string {
  return `${(ms === null ? "" : `${Math.round(ms)} ms`).padStart(11)}  `;
}
