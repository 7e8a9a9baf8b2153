import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";

import type { DrainSink } from "./drain.ts";

const MODE = 0o600;
/** Without O_NONBLOCK, the open of a pipe waits for its reader. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

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
    return (this.#file = await openRegular(this.#path));
  }
}

/**
 * Opens a file to append to. A pipe is refused: its open and each write would wait for a reader, in a thread that the process must
 * join at its end.
 */
async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, APPEND, MODE);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error("it is not a regular file; use stdout and a pipe instead");
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
