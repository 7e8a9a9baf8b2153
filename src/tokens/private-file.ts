import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";

const OWNER_ONLY = 0o600;
const OTHERS = 0o077;
/** Far above any real one. It stops a wrong path, to a device or a disk image, from being read for ever. */
const MAX_FILE_BYTES = 1_048_576;

/**
 * Reads a file that holds a secret; `undefined` when there is none.
 *
 * What went wrong names it by its whole path: a service that is started as root works in its data folder, and nobody who
 * reads what it says does.
 *
 * @throws {Error} when it cannot be read, or others than its owner can: it says how to mend that.
 */
export async function readPrivate(file: string): Promise<string | undefined> {
  try {
    // Not blocking: opening a FIFO would wait for somebody to write to it.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    // The open file is asked and not the path, which could lead elsewhere a moment later.
    const stat = await handle.stat();
    if (!stat.isFile()) throw new Error(`${resolve(file)} is not a file; move it away`);
    if ((stat.mode & OTHERS) !== 0) {
      const mode = (stat.mode & 0o777).toString(8);
      throw new Error(
        `others than its owner have access to ${resolve(file)} (mode ${mode}); run: chmod 600 ${resolve(file)}`,
      );
    }
    if (stat.size > MAX_FILE_BYTES)
      throw new Error(`${resolve(file)} has ${stat.size} bytes, at most ${MAX_FILE_BYTES} are read`);
    return await handle.readFile("utf8");
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return undefined;
    if (code === undefined) throw error;
    throw new Error(`${resolve(file)} cannot be read (${code}); give this process's user access to it`, {
      cause: error,
    });
  }
}

/**
 * Writes a secret whole or not at all, also when the power fails half-way. A missing folder is made for its owner only.
 *
 * @param options `replace: false` keeps a file that is there, also one that another process makes at the same moment.
 * @returns whether the file is now the one written here.
 */
export async function writePrivate(file: string, text: string, options: { replace: boolean }): Promise<boolean> {
  const folder = dirname(file);
  await makePrivateFolder(folder);
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    {
      await using handle = await open(temporary, "wx", OWNER_ONLY);
      if (options.replace) await keepOwner(file, handle);
      await handle.writeFile(text);
      // Before it gets its name: else a crash can leave the name on an empty file.
      await handle.sync();
    }
    // A rename would replace a key that another process has signed with already; a link fails then.
    if (options.replace) await rename(temporary, file);
    else await link(temporary, file);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  await using handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  await handle.sync();
  return true;
}

/** Makes the folder, with those above it, for its owner only. One that is there is left as it is. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** What root writes for a service that is not root stays the service's to read. */
async function keepOwner(file: string, next: FileHandle): Promise<void> {
  const before = await lstat(file).catch(() => null);
  if (before?.isFile() && process.getuid?.() === 0) await next.chown(before.uid, before.gid);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
