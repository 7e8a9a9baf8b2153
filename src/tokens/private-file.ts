import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";

const OWNER_ONLY = 0o600;
const OTHERS = 0o077;
/** Far above the size of a real file. It stops an endless read of a wrong path, such as a device or a disk image. */
const MAX_FILE_BYTES = 1_048_576;

/**
 * Reads a file that contains a secret; returns `undefined` if it does not exist.
 *
 * Errors contain the absolute path: a service that root starts has its data folder as working directory, and the reader of the
 * error has another one.
 *
 * @throws {Error} when it cannot be read, or other users than its owner can read it. The message contains the fix.
 */
export async function readPrivate(file: string): Promise<string | undefined> {
  try {
    // Non-blocking, because opening a FIFO would wait for a writer.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    // The check uses the open file, because the path could lead to another file a moment later.
    const stat = await handle.stat();
    if (!stat.isFile()) throw new Error(`${resolve(file)} is not a file; move it away`);
    if ((stat.mode & OTHERS) !== 0) {
      const mode = (stat.mode & 0o777).toString(8);
      throw new Error(
        `users other than the owner have access to ${resolve(file)} (mode ${mode}); run: chmod 600 ${resolve(file)}`,
      );
    }
    if (stat.size > MAX_FILE_BYTES)
      throw new Error(`${resolve(file)} has ${stat.size} bytes; at most ${MAX_FILE_BYTES} are allowed`);
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
 * Writes a secret whole or not at all, even after a loss of power. A missing folder is created for its owner only.
 *
 * @param options `replace: false` keeps an existing file, even if another process creates it at the same moment.
 * @returns whether the file is the one that this call wrote.
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
      // Before the rename: otherwise a crash can leave the name on an empty file.
      await handle.sync();
    }
    // A rename would replace a key that another process may have used already. A link fails in this case.
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

/** Creates the folder and missing folders above it, for its owner only. An existing folder stays unchanged. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** Gives a file that root writes to the user of the service, so that the service can still read it. */
async function keepOwner(file: string, next: FileHandle): Promise<void> {
  const before = await lstat(file).catch(() => null);
  if (before?.isFile() && process.getuid?.() === 0) await next.chown(before.uid, before.gid);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
