import { closeSync, openSync, readSync } from "node:fs";

/** The maximum number of bytes that the kernel returns for one read (fs/seq_file.c). */
export const PAGE_BYTES = 4_096;
/**
 * The maximum number of pages to read of the mappings of a guest, which is about 3,000 mappings. Node with 14 threads has
 * 850, in 45 KiB. A guest with more counts as over its limit, because it could hide a mapping behind tens of thousands of
 * others, or make a check expensive.
 */
export const MOST_PAGES = 64;

/** The mappings of a process (proc_pid_maps(5)). */
export interface Mappings {
  /** The kernel's text, or null if it is longer than the maximum. */
  readonly text: string | null;
}

/** @returns null if this process may not read them; some kernels return an empty file then. */
export function readMappings(pid: number): Mappings | null {
  let file: number | null = null;
  try {
    file = openSync(`/proc/${pid}/maps`, "r");
    const text = readPages(file);
    return text === "" ? null : { text };
  } catch {
    return null;
  } finally {
    if (file !== null) closeSync(file);
  }
}

function readPages(file: number): string | null {
  const pages: string[] = [];
  for (let count = 0; count < MOST_PAGES; count++) {
    const page = Buffer.allocUnsafe(PAGE_BYTES);
    const read = readSync(file, page, 0, PAGE_BYTES, null);
    if (read === 0) return pages.join("");
    pages.push(page.toString("latin1", 0, read));
  }
  return null;
}

/**
 * Returns whether a removed file of a folder is still mapped.
 *
 * @param folder the path of the folder, without symbolic links.
 */
export function hasRemovedMapping(mappings: string, folder: string): boolean {
  // The path is the rest of a line. The kernel escapes only line feeds in it.
  const start = ` ${Buffer.from(folder).toString("latin1")}/`;
  return mappings.split("\n").some((line) => line.endsWith(" (deleted)") && line.includes(start));
}
