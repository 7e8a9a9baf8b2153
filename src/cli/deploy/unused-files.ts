import { readdirSync } from "node:fs";
import path from "node:path";

import type { Wanted } from "./plan.ts";
import { type Project, TASKS_FOLDER } from "./project.ts";

const CODE = /^(?!.*(?:\.d\.ts|\.(?:test|spec)\.[cm]?[jt]s)$).+\.[cm]?[jt]s$/;
const MAX_FILES = 1_000;
const MAX_REPORTED = 5;

/**
 * Returns the files with code in further folders that no task imports. Their author may take them for tasks. Bundles do not show
 * what they import.
 */
export function unusedFiles({ folder }: Project, wanted: readonly Wanted[]): string[] {
  if (wanted.some(({ isBundled }) => isBundled)) return [];
  const tasks = path.join(folder, TASKS_FOLDER);
  const used = new Set(
    wanted.flatMap(({ file, source }) =>
      Object.keys(source.modules ?? {}).map((name) => path.join(path.dirname(file), name)),
    ),
  );
  const found: string[] = [];
  const folders = foldersIn(tasks);
  let left = MAX_FILES;
  for (const each of folders) {
    for (const entry of readdirSync(each, { withFileTypes: true })) {
      if ((left -= 1) < 0) return found;
      const file = path.join(each, entry.name);
      if (entry.isDirectory() && isOwn(entry.name)) folders.push(file);
      else if (entry.isFile() && CODE.test(entry.name) && !used.has(file)) found.push(file);
      if (found.length === MAX_REPORTED) return found;
    }
  }
  return found;
}

function foldersIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && isOwn(entry.name))
    .map((entry) => path.join(folder, entry.name));
}

/** Whether a folder has files of the author, and neither packages nor what tools keep. */
function isOwn(name: string): boolean {
  return name !== "node_modules" && !name.startsWith(".");
}
