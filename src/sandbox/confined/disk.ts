import { type Dirent, lstatSync, opendirSync } from "node:fs";

/** The minimum that each entry of a folder counts, in bytes. Without it, empty files would count nothing. */
const ENTRY_BYTES = 4_096;
/** The unit of `st_blocks` (stat(2)), which does not depend on the block size of the file system. */
export const BLOCK_BYTES = 512;
/** The maximum delay of file times behind the clock: the kernel rounds them down to ticks of at most 10 ms. */
const TICKS_MS = 20;
/** Errors that mean that the system lacks resources. They do not mean that the guest hides something. */
const OUT_OF_RESOURCES: ReadonlySet<string | undefined> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);
/**
 * The maximum number of files and folders of a guest. A check needs a system call for each entry, and the guest writes
 * meanwhile, so a guest with more entries counts as over its limit.
 */
const MOST_ENTRIES = 2_048;
/** A large disk limit allows more entries: one for each this many bytes. */
const BYTES_PER_ENTRY = 32_768;
/** The maximum depth of folders: the kernel walks through all of them for each entry below. */
const MOST_FOLDERS_DEEP = 64;
/** The number of entries of a folder that are in memory at a time. A guest can create millions. */
const BATCH_ENTRIES = 256;
const SLASH = Buffer.from("/");

export interface DiskUse {
  readonly bytes: number;
  /**
   * Whether no file was removed, moved or made smaller during the count. If false, `bytes` may be too low. The count misses
   * a folder that the guest keeps renaming, and files that the guest moves from a folder not yet read to a folder already
   * read.
   */
  readonly isCertain: boolean;
}

/**
 * Counts the disk use of the files in the folder of a guest.
 *
 * The count stops when it exceeds the limit. Some folders count as infinite: a folder that cannot be read, a folder below
 * 64 other folders, and a folder with too many entries. Honest code does not need them.
 *
 * @param used the bytes that the guest uses outside its folder.
 */
export function diskUse(folder: string, limitBytes: number, used = 0): DiskUse {
  const count = new DiskCount(limitBytes, used);
  count.walk(Buffer.from(folder));
  return { bytes: count.bytes, isCertain: count.bytes > limitBytes || count.isCertain };
}

interface Folder {
  readonly path: Buffer;
  readonly depth: number;
}

class DiskCount {
  bytes: number;
  isCertain = true;
  readonly #limitBytes: number;
  readonly #mostEntries: number;
  readonly #sinceMs = Date.now() - TICKS_MS;
  #entries = 0;

  constructor(limitBytes: number, used: number) {
    this.#limitBytes = limitBytes;
    this.#mostEntries = Math.max(MOST_ENTRIES, limitBytes / BYTES_PER_ENTRY);
    this.bytes = used;
  }

  walk(folder: Buffer): void {
    const folders: Folder[] = [{ path: folder, depth: 0 }];
    for (const next of folders) {
      this.#add(next, folders);
      if (this.bytes > this.#limitBytes) return;
    }
    // Check the times of all folders at the end: an entry that was added or removed during the count changed its folder.
    for (const { path } of folders) this.#stat(path);
  }

  #add({ path, depth }: Folder, folders: Folder[]): void {
    try {
      const start = Buffer.concat([path, SLASH]);
      // Node's types allow only text as names. A guest's file names may be invalid UTF-8, and text would not find the file.
      using listing = opendirSync(path, { encoding: "buffer" as BufferEncoding, bufferSize: BATCH_ENTRIES });
      for (let entry = listing.readSync(); entry; entry = listing.readSync()) {
        this.#count(start, entry, depth, folders);
        if (this.bytes > this.#limitBytes) return;
      }
    } catch (error) {
      this.#handleError(error as NodeJS.ErrnoException);
    }
  }

  #count(start: Buffer, entry: Dirent, depth: number, folders: Folder[]): void {
    const path = Buffer.concat([start, entry.name as unknown as Buffer]);
    if (entry.isDirectory()) folders.push({ path, depth: depth + 1 });
    const isTooMuch = ++this.#entries > this.#mostEntries || depth >= MOST_FOLDERS_DEEP;
    this.bytes += isTooMuch ? Infinity : this.#stat(path);
  }

  /**
   * Returns the bytes of a file. Its time shows whether it has shrunk, even if its content went to a file that was already
   * counted.
   */
  #stat(file: Buffer): number {
    try {
      const { blocks, ctimeMs } = lstatSync(file);
      if (ctimeMs >= this.#sinceMs) this.isCertain = false;
      return Math.max(ENTRY_BYTES, blocks * BLOCK_BYTES);
    } catch (error) {
      this.#handleError(error as NodeJS.ErrnoException);
      return 0;
    }
  }

  /** A file that the guest removed during the count counts nothing. A file that cannot be read counts as infinite. */
  #handleError({ code }: NodeJS.ErrnoException): void {
    this.isCertain = false;
    if (code !== "ENOENT" && code !== "ENOTDIR" && !OUT_OF_RESOURCES.has(code)) this.bytes = Infinity;
  }
}
