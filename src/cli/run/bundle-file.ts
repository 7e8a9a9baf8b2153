import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import path from "node:path";
import { buffer, text } from "node:stream/consumers";

import { UsageError } from "../exits.ts";
import { printableLines } from "../print/printable.ts";

/**
 * The flags for a guest. The names of parameters stay, because they decide what a function receives. The source map makes errors
 * point at the files of the author.
 */
const FLAGS = [
  ...["--bundle", "--platform=node", "--target=node24", "--log-level=warning"],
  ...["--minify-whitespace", "--minify-syntax", "--sourcemap=inline"],
];

/**
 * Bundles a file with its imports, by the esbuild of its project. caisson does not include esbuild, because a service
 * does not need it and a project has its own version.
 *
 * @param program the esbuild to use; by default the function searches it.
 * @param flags additional flags for esbuild, after the flags for a guest.
 * @returns CommonJS for Node, with an inline source map.
 * @throws {UsageError} if there is no esbuild, or if it fails. esbuild then writes the reason to stderr.
 */
export async function bundle(file: string, program: string | undefined, flags: readonly string[]): Promise<Buffer> {
  const args = [path.resolve(file), ...FLAGS, ...flags];
  const esbuild = program ?? find(path.dirname(path.resolve(file)));
  const child = spawn(esbuild, args, { stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close") as Promise<[number | null, string | null]>;
  try {
    const [code, messages, [status, signal]] = await Promise.all([buffer(child.stdout), text(child.stderr), closed]);
    process.stderr.write(printableLines(withoutStack(messages)).join("\n"));
    if (status !== 0) {
      throw new UsageError(`${file} was not bundled: esbuild ended with ${status ?? signal}${fixOf(messages)}`);
    }
    if (code.length === 0) throw new UsageError(`${file} was not bundled: esbuild printed nothing`);
    return code;
  } catch (error) {
    if (!(error instanceof Error) || !("syscall" in error)) throw error;
    throw new UsageError(`${esbuild} cannot be started: ${error.message}`, { cause: error });
  }
}

/** Returns what to do about a module that esbuild does not find; empty for other errors. */
function fixOf(messages: string): string {
  const name = /Could not resolve "([^"\n]{1,200})"/.exec(messages)?.[1];
  if (name === undefined) return "";
  const [, scheme, named] = /^(jsr|npm):([@\w./-]+)/.exec(name) ?? [];
  if (scheme === "jsr") {
    const alone = `import "${named}"`;
    return `; esbuild resolves no jsr: import: npx jsr add ${named} installs the package, and then write ${alone} without jsr:`;
  }
  if (scheme === "npm")
    return `; esbuild resolves no npm: import: npm install ${named}, and write the name without npm:, or run without --bundle`;
  if (/^bun(?::|$)/.test(name)) return "; the code runs in Node, which has no module of Bun: use the node: modules";
  return "; npm install installs the packages of a project";
}

/** Leaves out the stack of the script that starts esbuild: it has nothing about the code. */
function withoutStack(messages: string): string {
  const start = /^(?:node:[\w/]+:\d+|\S*esbuild\S*:\d+)$/m.exec(messages);
  return start === null ? messages : messages.slice(0, start.index);
}

/** Finds esbuild as npm does: from the folder of the file upwards, then in the PATH. */
function find(folder: string): string {
  const above = path.dirname(folder);
  const local = path.join(folder, "node_modules", ".bin", "esbuild");
  if (isProgram(local)) return local;
  if (above !== folder) return find(above);
  const found = (process.env["PATH"] ?? "")
    .split(path.delimiter)
    .filter((each) => path.isAbsolute(each))
    .map((each) => path.join(each, "esbuild"))
    .find(isProgram);
  if (found !== undefined) return found;
  throw new UsageError(
    "there is no esbuild in the project of the file or in the PATH: install it with `npm install --save-dev esbuild`, or set " +
      "--esbuild",
  );
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The inline source map at the end of a bundle. */
const COMMENT = /\/\/# sourceMappingURL=data:application\/json;base64,([\w+/=]+)\s*$/;

/** Returns the files of a bundle, which its inline source map names relative to the current folder. */
export function inputsOfBundle(bundled: string): string[] {
  const data = COMMENT.exec(bundled.slice(bundled.lastIndexOf("//# sourceMappingURL=")))?.[1];
  if (data === undefined) return [];
  const { sources = [] } = JSON.parse(Buffer.from(data, "base64").toString()) as { sources?: string[] };
  return sources.filter((source) => !source.includes("node_modules")).map((source) => path.resolve(source));
}
