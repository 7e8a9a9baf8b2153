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
  const used = importedBy(wanted);
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

/** A default export, or a value of a CommonJS module that a run can call. */
const CALLED = /\bexport\s+default\b|\bas\s+default\b|\bmodule\.exports\s*=(?!\s*\{)|\bfetch\b/;

/** Returns the files of tasks that another task imports, and that a run probably cannot call: a part of other tasks. */
export function parts(wanted: readonly Wanted[]): string[] {
  const imported = importedBy(wanted);
  return wanted.filter(({ file, source }) => imported.has(file) && !CALLED.test(source.code)).map(({ file }) => file);
}

function importedBy(wanted: readonly Wanted[]): ReadonlySet<string> {
  return new Set(wanted.flatMap(modulesOf));
}

function modulesOf({ file, source }: Wanted): string[] {
  return Object.keys(source.modules ?? {}).map((name) => path.join(path.dirname(file), name));
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
