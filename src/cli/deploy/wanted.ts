import { bundle } from "../run/bundle-file.ts";
import type { Wanted } from "./plan.ts";
import type { ProjectTask } from "./project.ts";
import { readSource, textOf } from "./source.ts";

/** Reads or bundles the code of a task. @throws {UsageError} if the file cannot be read or bundled */
export async function readWanted({ name, file, settings }: ProjectTask, isBundled: boolean): Promise<Wanted> {
  const source = isBundled
    ? { code: textOf(await bundle(file, undefined, []), file), modules: null, typescript: false, unsent: NOTHING }
    : readSource(file);
  return { name, file, source, isBundled, settings };
}

const NOTHING: ReadonlyMap<string, string> = new Map();
