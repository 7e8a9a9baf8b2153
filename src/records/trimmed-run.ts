import type { EndedRun } from "./ended-run.ts";
import type { KeptRun, RunStatus } from "./record.ts";

/** The approximate memory of a console line beyond its text. */
const LINE_BYTES = 64;

/** A run of which only the first console lines are kept. Its record counts the others as dropped. */
export class TrimmedRun implements EndedRun {
  readonly run: string;
  readonly container: string;
  readonly status: RunStatus;
  readonly family: string;
  readonly startedMs: number;
  readonly bytes: number;
  readonly isSilent: boolean;
  /** The approximate memory of the lines that are left. */
  readonly lineBytes: number;
  /** Whether all lines are left. */
  readonly isWhole: boolean;
  readonly #kept: KeptRun;

  /** @param maxLineBytes the memory of the lines that are left */
  constructor(run: EndedRun, maxLineBytes: number) {
    const kept = run.kept();
    const { console, dropped } = kept.record;
    let lines = 0;
    let lineBytes = 0;
    while (lines < console.length) {
      const bytes = console[lines]!.text.length + LINE_BYTES;
      if (lineBytes + bytes > maxLineBytes) break;
      lineBytes += bytes;
      lines += 1;
    }
    const rest = console.slice(lines);
    const restBytes = rest.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    this.run = run.run;
    this.container = run.container;
    this.status = run.status;
    this.family = run.family;
    this.startedMs = run.startedMs;
    this.bytes = Math.max(lineBytes, run.bytes - restBytes - rest.length * LINE_BYTES);
    this.isSilent = run.isSilent;
    this.lineBytes = lineBytes;
    this.isWhole = rest.length === 0;
    this.#kept = {
      ...kept,
      record: {
        ...kept.record,
        console: console.slice(0, lines),
        dropped: { lines: dropped.lines + rest.length, bytes: dropped.bytes + restBytes },
      },
    };
  }

  withoutLines(): EndedRun {
    return new TrimmedRun(this, 0);
  }

  kept(): KeptRun {
    return this.#kept;
  }
}
