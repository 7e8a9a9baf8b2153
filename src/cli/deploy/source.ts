import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

import { didYouMean, listed } from "../../nearest.ts";
import { UsageError } from "../exits.ts";

/** The code of a file, and the modules below its folder that it imports. */
export interface Source {
  readonly code: string;
  /** By relative specifier; null if there are none. */
  readonly modules: Readonly<Record<string, string>> | null;
  readonly typescript: boolean;
  /** What to do about the imports whose files are not sent although a file is there, by specifier. */
  readonly unsent: ReadonlyMap<string, string>;
}

/** An import or a `require` of a file below the folder. What is found in a comment is sent too, which does no harm. */
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(["'])(\.{1,2}\/[^"'\n]+)\1/g;
const TYPESCRIPT = /\.[cm]?tsx?$/;

/**
 * Reads a file and the files that it imports with `./`. A guest resolves no other file, so a bundler is needed for packages, and
 * for folders above.
 *
 * @throws {UsageError} if the file cannot be read.
 */
export function readSource(file: string): Source {
  const code = readText(file);
  const folder = path.dirname(file);
  const modules: Record<string, string> = {};
  const unsent = new Map<string, string>();
  const waiting = [{ text: code, from: folder }];
  for (const { text, from } of waiting) {
    for (const [, , specifier] of text.matchAll(IMPORT)) {
      const target = path.join(from, specifier!);
      const inside = path.relative(folder, target);
      const name = `./${inside.split(path.sep).join("/")}`;
      if (inside.startsWith("..") || path.isAbsolute(inside)) {
        const ending = isFile(target) ? "" : endingOf(target);
        if (ending === "") unsent.set(specifier!, `The file ${OUTSIDE}`);
        else if (ending !== null)
          unsent.set(
            specifier!,
            `There is no such file, but "${withEnding(specifier!, ending)}" is one. It ${OUTSIDE}`,
          );
        continue;
      }
      if (Object.hasOwn(modules, name) || path.resolve(target) === path.resolve(file)) continue;
      if (!isFile(target)) {
        const ending = endingOf(target);
        if (ending !== null)
          unsent.set(specifier!, `There is no such file, but "${withEnding(specifier!, ending)}" is one: write it so.`);
        continue;
      }
      const content = readText(target);
      modules[name] = content;
      waiting.push({ text: content, from: path.dirname(target) });
    }
  }
  return {
    code,
    modules: Object.keys(modules).length === 0 ? null : modules,
    typescript: TYPESCRIPT.test(file),
    unsent,
  };
}

const OUTSIDE =
  "is outside of the folder of the code. caisson run and caisson deploy send only files in this folder and below it: move the file, or bundle the code with --bundle.";
/** Endings that bundlers and TypeScript add or replace. */
const ENDINGS = [".ts", ".tsx", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.js"];

/** Returns the ending with which there is a file, instead of `.js` too, or null. */
function endingOf(target: string): string | null {
  return ENDINGS.find((ending) => isFile(withEnding(target, ending))) ?? null;
}

function withEnding(name: string, ending: string): string {
  return `${name.replace(/\.[cm]?jsx?$|\/$/, "")}${ending}`;
}

/** Returns what to do about the module of a message of the service that is not there, or null if no file is there either. */
export function unsentHint(message: string, unsent: ReadonlyMap<string, string>): string | null {
  const specifier = /there is no module "([^"\n]+)"/.exec(message)?.[1];
  return (specifier !== undefined && unsent.get(specifier)) || null;
}

/** @throws {UsageError} */
export function textOf(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new UsageError(`${what} is not UTF-8`, { cause: error });
  }
}

const CODE = "; if this is code, write it to stdin: echo 'return 1' | caisson run -";

/** @throws {UsageError} if the file cannot be read as text. */
export function readText(file: string): string {
  try {
    return textOf(readFileSync(file), file);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EISDIR") {
      throw new UsageError(`${file} is a folder; name a file, or deploy its tasks with caisson deploy ${file}`, {
        cause: error,
      });
    }
    const isMissing = code === "ENOENT";
    const where = path.isAbsolute(file) ? "" : ` in ${process.cwd()}`;
    const what = isMissing
      ? `there is no file ${file}${where}${/[\s;()*]/.test(file) ? CODE : nearby(file)}`
      : `${file} cannot be read: ${(error as Error).message}`;
    throw new UsageError(what, { cause: error });
  }
}

function isFile(file: string): boolean {
  return existsSync(file) && statSync(file).isFile();
}

/** The files that a message names. */
const MAX_NEARBY = 5;

/** Returns which file of the folder was perhaps meant, or the files with the same end. */
function nearby(file: string): string {
  let names: string[];
  try {
    names = readdirSync(path.dirname(file)).filter((name) => path.extname(name) === path.extname(file));
  } catch {
    return `; there is no folder ${path.dirname(file)} either`;
  }
  const near = didYouMean(path.basename(file), names);
  if (near !== "" || names.length === 0) return near;
  return `; the folder has ${listed(names, MAX_NEARBY)}`;
}
