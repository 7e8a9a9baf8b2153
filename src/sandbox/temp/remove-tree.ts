import type { Dirent } from "node:fs";
import { chmod, lchown, lstat, mkdtemp, opendir, rename, rmdir, unlink } from "node:fs/promises";
import path from "node:path";

import { ownIdentity } from "../privilege.ts";

/**
 * Removes a folder that guests have written to, with its content. Does nothing if the folder does not exist. The guests must
 * have ended.
 *
 * `rm` is not sufficient. A guest can create folders that its user may not read or write, and can nest folders deeper than
 * the maximum length of a path, with `chdir`. Therefore this process takes over each folder and moves it up, until all are
 * next to each other. Root needs only CAP_CHOWN for that. Names are bytes and may be invalid UTF-8, and there may be
 * millions.
 *
 * @throws {Error} if something in the folder can neither be taken over nor removed.
 */
export async function removeTree(folder: string): Promise<void> {
  if (!(await takeOver(folder))) return;
  // Next to the folder and not in it, where the guest chose the names. A later start recognizes it by its prefix.
  const parent = await mkdtemp(`${folder}-removing-`);
  const left: (string | Buffer)[] = [folder];
  let moved = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for await (const [file, entry] of readDirectory(next)) {
      if (!entry.isDirectory()) {
        await unlink(file);
        continue;
      }
      // A folder must be writable to be moved, because its `..` changes.
      await takeOver(file);
      const target = path.join(parent, String(moved++));
      await rename(file, target);
      left.push(target);
    }
    await rmdir(next);
  }
  await rmdir(parent);
}

/** Makes this process the owner of a folder, with all rights. @returns whether the folder exists. */
async function takeOver(folder: string | Buffer): Promise<boolean> {
  const found = await lstat(folder).catch(() => null);
  if (!found?.isDirectory()) return false;
  const { uid, gid } = ownIdentity();
  if (found.uid !== uid) await lchown(folder, uid, gid);
  await chmod(folder, 0o700);
  return true;
}

/** The number of entries that are in memory at a time. A guest can create millions. */
const BATCH_ENTRIES = 256;
const SLASH = Buffer.from("/");

/**
 * Yields the entries of a folder that a guest has written to, each with its path. Names are bytes, because a guest's file
 * names may be invalid UTF-8: converted to text, a name would not find its file.
 */
async function* readDirectory(folder: string | Buffer): AsyncGenerator<[path: Buffer, entry: Dirent]> {
  const start = Buffer.concat([Buffer.from(folder as string), SLASH]);
  // Node's types allow only strings as names and folders.
  const options = { encoding: "buffer" as BufferEncoding, bufferSize: BATCH_ENTRIES };
  for await (const entry of await opendir(folder, options)) {
    yield [Buffer.concat([start, entry.name as unknown as Buffer]), entry];
  }
}
