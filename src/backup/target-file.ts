import { randomUUID } from "node:crypto";
import { existsSync, realpathSync, rmSync, statSync } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import path from "node:path";

import { ConfigError } from "../config/read.ts";

/** Signals that end the command. Without a handler the unfinished file would stay. */
const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/**
 * Writes a file whole or not at all: it gets its name when all of it is on the disk. Only its owner can read it.
 *
 * @param replace whether an existing file may be replaced
 * @throws {ConfigError} if the file exists, its folder does not exist, or it is in the data folder.
 */
export async function writeTarget(
  target: { readonly file: string; readonly data: string; readonly replace: boolean },
  content: AsyncIterable<Buffer>,
): Promise<void> {
  const { file, replace } = target;
  checkTarget(target);
  const unfinished = `${file}.${randomUUID()}.unfinished`;
  const discard = (): void => rmSync(unfinished, { force: true });
  const handlers = Object.entries(SIGNALS).map(([signal, number]) => {
    const handler = (): void => {
      discard();
      process.exit(128 + number);
    };
    process.on(signal, handler);
    return () => process.off(signal, handler);
  });
  try {
    {
      await using handle: FileHandle = await open(unfinished, "wx", 0o600);
      await handle.writeFile(content);
      await handle.sync();
    }
    // Also after the first check, because the backup may have taken long.
    if (!replace && existsSync(file)) throw isThere(file);
    await rename(unfinished, file);
    await syncFolder(path.dirname(file));
  } finally {
    discard();
    for (const remove of handlers) remove();
  }
}

/** @throws {ConfigError} as {@link writeTarget}. */
export function checkTarget({ file, data, replace }: { file: string; data: string; replace: boolean }): void {
  const folder = path.dirname(file);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigError(`--to: the folder ${folder} does not exist; create it, or name another file`);
  }
  const inside = path.relative(realpathSync(data), realpathSync(folder));
  if (inside === "" || (inside !== ".." && !inside.startsWith("../"))) {
    throw new ConfigError(`--to: ${file} is in the data folder; name a file outside it, best on another disk`);
  }
  const found = statSync(file, { throwIfNoEntry: false });
  if (found && !found.isFile()) throw new ConfigError(`--to: ${file} is not a file; name another one`);
  if (found && !replace) throw isThere(file);
}

function isThere(file: string): ConfigError {
  return new ConfigError(`--to: ${file} exists; name another file, or replace it with --force`);
}

/** Makes the name survive a loss of power, if the file system can do that for a folder. */
async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await open(folder, "r");
    await handle.sync();
  } catch {
    // Some network file systems refuse it. The content itself is on the disk.
  }
}
