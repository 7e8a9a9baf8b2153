import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";

/** The time in which an editor writes a file completely. */
const SETTLE_MS = 50;

/** The content of files, by name. */
export type Contents = ReadonlyMap<string, string>;

/**
 * Waits until the content of one of the files differs from what it was. Folders are watched, because editors replace files.
 *
 * @param seen the contents before the files were used: a change during their use counts too
 */
export async function changeOf(files: readonly string[], seen: Contents): Promise<void> {
  const before = new Map([...(await contentsOf(files)), ...seen]);
  const changed = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const check = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      contentsOf(files).then((now) => differs(now, before) && changed.resolve(), changed.reject);
    }, SETTLE_MS);
  };
  const folders = new Set(files.map((file) => path.dirname(path.resolve(file))));
  const watchers = [...folders].map((folder): FSWatcher => watch(folder, check).on("error", changed.reject));
  // A change before the watch has begun.
  check();
  try {
    await changed.promise;
  } finally {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  }
}

/** Returns the contents of files; a file that is missing for a moment is empty. */
export async function contentsOf(files: readonly string[]): Promise<Contents> {
  return new Map(
    await Promise.all(files.map(async (file): Promise<[string, string]> => [file, await contentOf(file)])),
  );
}

function contentOf(file: string): Promise<string> {
  return readFile(file, "base64").catch(() => "");
}

function differs(now: Contents, before: Contents): boolean {
  return [...now].some(([file, content]) => before.get(file) !== content);
}
