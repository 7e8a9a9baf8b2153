import { closeSync, fdatasync, fdatasyncSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { promisify } from "node:util";

import { RecordWriter } from "./count-records.ts";

const sync = promisify(fdatasync);

/** A file that grows only by whole frames. Part of a frame from a failed write is cut off before the next frame. */
export class JournalFile {
  readonly number: number;
  readonly #file: number;
  #bytes: number;
  #torn = false;

  private constructor(number: number, file: number, bytes: number) {
    this.number = number;
    this.#file = file;
    this.#bytes = bytes;
  }

  /**
   * Creates a journal. Recovery treats it as absent until its first record after the start record.
   *
   * @param time the newest time on record
   * @throws the system's error.
   */
  static create(path: string, number: number, time: number): JournalFile {
    const file = openSync(path, "wx", 0o600);
    const journal = new JournalFile(number, file, 0);
    const start = new RecordWriter();
    start.start(time);
    try {
      journal.append(start.take());
    } catch (error) {
      closeSync(file);
      throw error;
    }
    return journal;
  }

  /** Opens a journal to continue it after its whole frames. */
  static reopen(path: string, number: number, bytes: number): JournalFile {
    const journal = new JournalFile(number, openSync(path, "r+"), bytes);
    journal.#repair();
    return journal;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @throws the system's error; the journal is then unchanged. */
  append(frame: Buffer): void {
    if (this.#torn) this.#repair();
    let written = 0;
    try {
      while (written < frame.length) {
        written += writeSync(this.#file, frame, written, frame.length - written, this.#bytes + written);
      }
    } catch (error) {
      this.cut(this.#bytes);
      throw error;
    }
    this.#bytes += frame.length;
  }

  /** Removes everything after `bytes`. Never fails: if the disk refuses, the next `append` tries again. */
  cut(bytes: number): void {
    this.#bytes = bytes;
    this.#torn = true;
    try {
      this.#repair();
    } catch {
      // `append` tries again, and throws if that fails too.
    }
  }

  /** Resolves when everything appended survives a loss of power. */
  sync(): Promise<void> {
    return sync(this.#file);
  }

  syncNow(): void {
    fdatasyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }

  #repair(): void {
    ftruncateSync(this.#file, this.#bytes);
    this.#torn = false;
  }
}
