import { type Dirent, lstatSync, opendirSync } from "node:fs";

/** The least that an entry of a folder counts: otherwise empty files would cost nothing. */
const ENTRY_BYTES = 4_096;
/** The unit of `st_blocks` (stat(2)), whatever the block size of the file system is. */
export const BLOCK_BYTES = 512;
/** How far the times of a file may lag behind the clock: the kernel takes them from ticks of at most 10 ms, rounded down. */
const TICKS_MS = 20;
/** The kernel lacked the means to look, which says nothing about what lies there. */
const NO_MEANS: ReadonlySet<string | undefined> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);
/**
 * The most files and folders of a guest, and of a larger limit one for each so many bytes. A guest with more is over its
 * limit: a look asks the kernel about each entry, and the guest goes on writing meanwhile.
 */
const MOST_ENTRIES = 2_048;
const BYTES_AN_ENTRY = 32_768;
/** The most folders inside each other: the kernel walks all of them for each entry below. */
const MOST_FOLDERS_DEEP = 64;
/** How many entries of a folder are in memory at a time: a guest may make millions. */
const AT_ONCE = 256;
const SLASH = Buffer.from("/");

export interface DiskUse {
  readonly bytes: number;
  /**
   * Whether nothing was removed, moved or made smaller during the look. If false, `bytes` may be too low: a guest that
   * renames a folder without a pause is never found under the name that was read, and a guest that moves files from a place
   * not yet read to a place already read is not found either.
   */
  readonly isCertain: boolean;
}

/**
 * Counts what the files in the folder of a guest use of the disk.
 *
 * The count stops beyond the limit. Some folders count as more than any limit: a folder that cannot be read, a folder
 * deeper than 64 others, and a folder with too many entries. Honest code has no use for them.
 *
 * @param used bytes that the guest uses outside its folder.
 */
export function diskUse(folder: string, limitBytes: number, used = 0): DiskUse {
  const look = new Look(limitBytes, used);
  look.walk(Buffer.from(folder));
  return { bytes: look.bytes, isCertain: look.bytes > limitBytes || look.isCertain };
}

interface Folder {
  readonly path: Buffer;
  readonly depth: number;
}

class Look {
  bytes: number;
  isCertain = true;
  readonly #limitBytes: number;
  readonly #mostEntries: number;
  readonly #sinceMs = Date.now() - TICKS_MS;
  #entries = 0;

  constructor(limitBytes: number, used: number) {
    this.#limitBytes = limitBytes;
    this.#mostEntries = Math.max(MOST_ENTRIES, limitBytes / BYTES_AN_ENTRY);
    this.bytes = used;
  }

  walk(folder: Buffer): void {
    const folders: Folder[] = [{ path: folder, depth: 0 }];
    for (const next of folders) {
      this.#add(next, folders);
      if (this.bytes > this.#limitBytes) return;
    }
    // Again, now that all was seen: what came or went since the beginning has changed its folder.
    for (const { path } of folders) this.#ask(path);
  }

  #add({ path, depth }: Folder, folders: Folder[]): void {
    try {
      const start = Buffer.concat([path, SLASH]);
      // The types know only text as names. A name of a guest need not be text: read as text, it names nothing.
      using listing = opendirSync(path, { encoding: "buffer" as BufferEncoding, bufferSize: AT_ONCE });
      for (let entry = listing.readSync(); entry; entry = listing.readSync()) {
        this.#count(start, entry, depth, folders);
        if (this.bytes > this.#limitBytes) return;
      }
    } catch (error) {
      this.#miss(error as NodeJS.ErrnoException);
    }
  }

  #count(start: Buffer, entry: Dirent, depth: number, folders: Folder[]): void {
    const path = Buffer.concat([start, entry.name as unknown as Buffer]);
    if (entry.isDirectory()) folders.push({ path, depth: depth + 1 });
    const isTooMuch = ++this.#entries > this.#mostEntries || depth >= MOST_FOLDERS_DEEP;
    this.bytes += isTooMuch ? Infinity : this.#ask(path);
  }

  /** @returns the bytes of a file. A file that shrinks shows it by its time, even if what it lost went to a file asked before. */
  #ask(file: Buffer): number {
    try {
      const { blocks, ctimeMs } = lstatSync(file);
      if (ctimeMs >= this.#sinceMs) this.isCertain = false;
      return Math.max(ENTRY_BYTES, blocks * BLOCK_BYTES);
    } catch (error) {
      this.#miss(error as NodeJS.ErrnoException);
      return 0;
    }
  }

  /** Files come and go during a look: a file that is gone counts nothing. */
  #miss({ code }: NodeJS.ErrnoException): void {
    this.isCertain = false;
    if (code !== "ENOENT" && code !== "ENOTDIR" && !NO_MEANS.has(code)) this.bytes = Infinity;
  }
}
