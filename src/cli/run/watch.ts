import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";

/** The time in which an editor writes a file completely. */
const SETTLE_MS = 50;

/** Waits until the content of one of the files changes. Folders are watched, because editors replace files. */
export async function changeOf(files: readonly string[]): Promise<void> {
  const before = await contentsOf(files);
  const changed = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const check = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      contentsOf(files).then((now) => now !== before && changed.resolve(), changed.reject);
    }, SETTLE_MS);
  };
  const folders = new Set(files.map((file) => path.dirname(path.resolve(file))));
  const watchers = [...folders].map((folder): FSWatcher => watch(folder, check).on("error", changed.reject));
  // A change after the first read and before the watch begins.
  check();
  try {
    await changed.promise;
  } finally {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  }
}

/** Returns the contents of files as one text; a file that is missing for a moment is empty. */
async function contentsOf(files: readonly string[]): Promise<string> {
  const texts = await Promise.all(files.map((file) => readFile(file, "base64").catch(() => "")));
  return texts.join();
}
