import { type FileHandle, open, stat } from "node:fs/promises";

import type { DrainSink } from "./drain.ts";

const MODE = 0o600;

/**
 * Appends lines to a file. A file that was renamed or removed, as programs that rotate logs do, is opened again under its
 * name before the next batch.
 */
export class FileSink implements DrainSink {
  readonly #path: string;
  #file: FileHandle | null = null;
  /** Whether a write has failed within a line. */
  #isTorn = false;

  constructor(path: string) {
    this.#path = path;
  }

  async deliver(lines: Buffer): Promise<void> {
    try {
      const file = await this.#current();
      // A failed write may have left a part of a line. A line break keeps it apart from the lines that are written again.
      if (this.#isTorn) await file.appendFile("\n");
      this.#isTorn = true;
      await file.appendFile(lines);
      this.#isTorn = false;
    } catch (error) {
      throw withoutPath(error);
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
  }

  async #current(): Promise<FileHandle> {
    if (this.#file && (await isSame(this.#file, this.#path))) return this.#file;
    await this.close();
    this.#isTorn = false;
    return (this.#file = await open(this.#path, "a", MODE));
  }
}

async function isSame(file: FileHandle, path: string): Promise<boolean> {
  const [opened, named] = await Promise.all([file.stat(), stat(path).catch(() => null)]);
  return named !== null && named.ino === opened.ino && named.dev === opened.dev;
}

/** Returns the error with its code only, because anyone can read the failure in `/healthz`. */
export function withoutPath(error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? (error as Error) : new Error(code, { cause: error });
}
