import { chmod, lchown, lstat, mkdtemp, rename, rmdir, unlink } from "node:fs/promises";
import path from "node:path";

import { ownIdentity } from "../privilege.ts";
import { readDirectory } from "./read-directory.ts";

/**
 * Removes a folder that guests have written to, with all that is in it, or does nothing where there is none. The guests
 * must have ended.
 *
 * `rm` alone does not do: a guest makes folders that its user may not read or write, and nests them deeper than a path can
 * be long, because it walks down by `chdir`. So each is taken over and moved up, until all lie side by side. As root, that
 * needs CAP_CHOWN and no right to files beyond. Names are bytes, of which not all are text, and there may be millions.
 *
 * @throws {Error} when something in it can neither be taken over nor removed.
 */
export async function removeTree(folder: string): Promise<void> {
  if (!(await takeOver(folder))) return;
  // Beside the folder: whatever lies in it has a name that the guest chose. A later start knows it by its beginning.
  const place = await mkdtemp(`${folder}-removing-`);
  const left: (string | Buffer)[] = [folder];
  let moved = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for await (const [file, entry] of readDirectory(next)) {
      if (!entry.isDirectory()) {
        await unlink(file);
        continue;
      }
      // To be moved it has to be writable: its `..` changes.
      await takeOver(file);
      const beside = path.join(place, String(moved++));
      await rename(file, beside);
      left.push(beside);
    }
    await rmdir(next);
  }
  await rmdir(place);
}

/** Makes a folder this process's own, to be read and written. @returns whether there is such a folder. */
async function takeOver(folder: string | Buffer): Promise<boolean> {
  const found = await lstat(folder).catch(() => null);
  if (!found?.isDirectory()) return false;
  const { uid, gid } = ownIdentity();
  if (found.uid !== uid) await lchown(folder, uid, gid);
  await chmod(folder, 0o700);
  return true;
}
