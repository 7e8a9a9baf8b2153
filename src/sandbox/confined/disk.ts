import { lstat } from "node:fs/promises";

import { entriesOf } from "../entries.ts";

/** What an entry of a folder costs at least: else empty files without end would cost nothing. */
const ENTRY_BYTES = 4_096;
/** Of `st_blocks` (stat(2)), whatever the filesystem's own are. */
export const BLOCK_BYTES = 512;
/** How far a file's times may be behind the clock: they are told by ticks, of 10 ms at the most, and rounded down. */
const TICKS_MS = 20;
/** The kernel had no means to look, which says nothing of what lies there. */
const NO_MEANS: ReadonlySet<string | undefined> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

export interface DiskUse {
  readonly bytes: number;
  /**
   * Whether nothing was removed, moved or made smaller meanwhile. Else it may be less than there ever was: a guest that
   * renames a folder without a pause is never found at the name that was read, and one that moves files from where one
   * has not looked yet to where one has is not found either.
   */
  readonly isCertain: boolean;
}

/**
 * How much of the disk a guest uses by the files of its folder.
 *
 * It stops counting beyond the limit. A folder that may not be read, or lies deeper than a path can be long, counts as
 * more than any limit: there is no honest use for one, and anything might lie in it.
 *
 * @param used what it uses otherwise, in bytes.
 */
export async function diskUse(folder: string, limitBytes: number, used = 0): Promise<DiskUse> {
  const look = new Look(limitBytes, used);
  await look.walk(Buffer.from(folder));
  return { bytes: look.bytes, isCertain: look.bytes > limitBytes || look.isCertain };
}

class Look {
  bytes: number;
  isCertain = true;
  readonly #limitBytes: number;
  readonly #sinceMs = Date.now() - TICKS_MS;

  constructor(limitBytes: number, used: number) {
    this.#limitBytes = limitBytes;
    this.bytes = used;
  }

  async walk(folder: Buffer): Promise<void> {
    const folders = [folder];
    for (const next of folders) {
      await this.#add(next, folders);
      if (this.bytes > this.#limitBytes) return;
    }
    // Once more, now that all was seen: what came or went since the beginning has changed its folder.
    for (const each of folders) await this.#ask(each);
  }

  async #add(folder: Buffer, folders: Buffer[]): Promise<void> {
    try {
      for await (const [file, entry] of entriesOf(folder)) {
        if (entry.isDirectory()) folders.push(file);
        this.bytes += await this.#ask(file);
        if (this.bytes > this.#limitBytes) return;
      }
    } catch (error) {
      this.#miss(error as NodeJS.ErrnoException);
    }
  }

  /** @returns its bytes. A file that shrinks shows it by its time, also where what it has lost went to one that was asked before. */
  async #ask(file: Buffer): Promise<number> {
    try {
      const { blocks, ctimeMs } = await lstat(file);
      if (ctimeMs >= this.#sinceMs) this.isCertain = false;
      return Math.max(ENTRY_BYTES, blocks * BLOCK_BYTES);
    } catch (error) {
      this.#miss(error as NodeJS.ErrnoException);
      return 0;
    }
  }

  /** Files come and go while one looks: what is gone is nothing. */
  #miss({ code }: NodeJS.ErrnoException): void {
    this.isCertain = false;
    if (code !== "ENOENT" && code !== "ENOTDIR" && !NO_MEANS.has(code)) this.bytes = Infinity;
  }
}
