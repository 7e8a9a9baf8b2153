import { readFileSync } from "node:fs";
import path from "node:path";

import { UsageError } from "../exits.ts";
import { parseJsonFile } from "../json-file.ts";

/** The file that describes a folder of tasks. */
export const PROJECT_FILE = "caisson.json";

/** Returns the members of a folder's `caisson.json`, or null if there is no such file. @throws {UsageError} */
export function readProjectFile(folder: string): Record<string, unknown> | null {
  const file = path.join(folder, PROJECT_FILE);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new UsageError(`${file} cannot be read: ${message}`, { cause: error });
  }
  try {
    const value: unknown = parseJsonFile(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
    throw new TypeError("it is not a JSON object");
  } catch (error) {
    const form = 'JSON has names and texts in double quotes, such as {"container": "acme"}';
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}; ${form}`, { cause: error });
  }
}

/** Returns the `url` of the folder's project, or null. The `caisson.json` of a service's settings has none. */
export function urlOfProject(folder: string): string | null {
  const url = readProjectFile(folder)?.["url"];
  if (url === undefined || url === null) return null;
  if (typeof url === "string") return url;
  throw new UsageError(`${path.join(folder, PROJECT_FILE)}: url must be a text such as "https://caisson.example"`);
}

/** Returns the `packages` of the folder's project, which all of its tasks may import; undefined if there are none. */
export function packagesOfProject(folder: string): Record<string, string> | undefined {
  return readPackages(readProjectFile(folder)?.["packages"], path.join(folder, PROJECT_FILE));
}

/** @param file for the fault. @throws {UsageError} if the value is not an object of texts */
export function readPackages(value: unknown, file: string): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined;
  const isObject = typeof value === "object" && !Array.isArray(value);
  if (isObject && Object.values(value).every((range) => typeof range === "string")) return { ...value };
  throw new UsageError(`${file}: packages must be ranges by name, such as {"zod": "^4"}`);
}
