import { closeSync, openSync, readSync } from "node:fs";

/** As much as the kernel writes in one go (fs/seq_file.c). */
export const PAGE_BYTES = 4_096;
/**
 * How much is read of the mappings of a guest: some 3,000 of them. Node with 14 threads has 850, 45 KiB. A guest with more
 * is over its limit: otherwise it could hide a mapping behind tens of thousands of others, or make a look expensive.
 */
export const MOST_PAGES = 64;

/** What the kernel reports of a process (proc_pid_maps(5)): the text, or null if it is longer than what is read. */
export interface Mappings {
  readonly text: string | null;
}

/** @returns null if this process may not read them, which some kernels show by an empty file. */
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

/** Whether a file of a folder is mapped that has no name any more. @param folder without symbolic links. */
export function hasRemovedMapping(mappings: string, folder: string): boolean {
  // A path is the rest of a line. The kernel writes its bytes as they are, but for line feeds.
  const start = ` ${Buffer.from(folder).toString("latin1")}/`;
  return mappings.split("\n").some((line) => line.endsWith(" (deleted)") && line.includes(start));
}
