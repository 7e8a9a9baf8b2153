import type { ConsoleLine } from "../../records/record.ts";

/** The approximate memory of a line in addition to its text. */
const LINE_BYTES = 64;

/** The console lines of a run that its record keeps, and a count of the others. */
export class KeptLines {
  lines: ConsoleLine[] = [];
  /** The approximate memory of the lines. */
  bytes = 0;
  droppedLines = 0;
  droppedBytes = 0;
  /** Whether lines were removed after they were kept. */
  isTrimmed = false;
  readonly #mostBytes: number;

  /** @param mostBytes the maximum memory of the lines */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /**
   * Keeps a line if there is room for it.
   *
   * @param bytes the length of its text
   * @param line returns the line; called only if the line is kept
   * @returns the line, or null if it is dropped
   */
  add(bytes: number, line: () => ConsoleLine): ConsoleLine | null {
    if (this.bytes + bytes + LINE_BYTES > this.#mostBytes) {
      this.droppedLines++;
      this.droppedBytes += bytes;
      return null;
    }
    const kept = line();
    this.bytes += bytes + LINE_BYTES;
    this.lines.push(kept);
    return kept;
  }

  /** Removes all lines, which then count as dropped. */
  clear(): void {
    this.isTrimmed = true;
    for (const { text } of this.lines) this.droppedBytes += Buffer.byteLength(text);
    this.droppedLines += this.lines.length;
    this.bytes = 0;
    // A new list, because records that were made before have the old one.
    this.lines = [];
  }
}
