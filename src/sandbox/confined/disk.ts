import { lstat, readdir } from "node:fs/promises";
import path from "node:path";

/** What an entry of a folder costs at least: else empty files without end would cost nothing. */
const ENTRY_BYTES = 4_096;
/** Of `st_blocks` (stat(2)), whatever the filesystem's own are. */
export const BLOCK_BYTES = 512;

/**
 * How much of the disk a guest uses by the files of its folder.
 *
 * It stops counting beyond the limit. A folder that may not be read, or lies deeper than a path can be long, counts as
 * more than any limit: there is no honest use for one, and anything might lie in it.
 *
 * @param used what it uses otherwise, in bytes.
 */
export async function diskUse(folder: string, limitBytes: number, used = 0): Promise<number> {
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined && used <= limitBytes; next = folders.pop()) {
    const entries = await readdir(next, { withFileTypes: true }).catch(tellUnreadable);
    if (entries === null) return Infinity;
    for (const entry of entries) {
      const file = path.join(next, entry.name);
      if (entry.isDirectory()) folders.push(file);
      const found = await lstat(file).catch(tellUnreadable);
      if (found === null) return Infinity;
      used += "blocks" in found ? Math.max(ENTRY_BYTES, found.blocks * BLOCK_BYTES) : 0;
      if (used > limitBytes) break;
    }
  }
  return used;
}

/** Files come and go while one looks: what is gone is nothing. */
function tellUnreadable(error: NodeJS.ErrnoException): [] | null {
  return error.code === "ENOENT" || error.code === "ENOTDIR" ? [] : null;
}
