import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { buffer } from "node:stream/consumers";

import type { RunOptions, Source } from "../../../client/src/index.ts";
import { readSource, readText, textOf } from "../deploy/source.ts";
import { UsageError } from "../exits.ts";
import { packagesOf } from "../package-flags.ts";
import { surplusPair } from "../pairs.ts";
import { type FileName, filesBelow, filesOfTask } from "../runs/error-lines.ts";
import { packagesOfProject } from "../target/project-file.ts";
import { bundle, inputsOfBundle } from "./bundle-file.ts";

/** The flags of `caisson run` in addition to those of every command. */
export interface RunFlags {
  readonly container?: string;
  readonly task?: string;
  readonly input?: string;
  readonly query?: readonly string[];
  readonly timeout?: string;
  readonly package?: readonly string[];
  readonly file?: string;
  readonly stream?: true;
  readonly watch?: true;
  readonly bundle?: true;
  readonly esbuild?: string;
}

/** What is sent to be run. */
export interface Submission {
  readonly source: Source;
  readonly options: RunOptions;
  /** The files whose change makes another run with `--watch`. */
  readonly inputs: readonly string[];
  /** Returns the author's name of a file in a position. */
  readonly fileName: FileName;
  /** What to do about imports whose files are not sent, by specifier. */
  readonly unsent: ReadonlyMap<string, string>;
}

/** The longest name of a file that the service accepts. */
const MAX_FILE_CHARS = 255;
/** A longer text of only white space is left to the service. */
const MOST_BLANK = 4_096;

/** @throws {UsageError} if flags contradict each other, a file cannot be read or bundled, or the input is not JSON. */
export async function readSubmission(
  file: string | undefined,
  flags: RunFlags,
  esbuildFlags: readonly string[],
): Promise<Submission> {
  if (file !== undefined && flags.task !== undefined) {
    throw new UsageError(`name a file or a deployed task, and not both: ${file} and --task ${flags.task}`);
  }
  const isBundled = flags.bundle === true || flags.esbuild !== undefined;
  refuseContradictions(file, flags, isBundled, esbuildFlags);
  const options: RunOptions = {
    ...(flags.input !== undefined && { data: dataOf(await inputOf(flags.input, file), flags.input) }),
    ...(flags.timeout !== undefined && { timeout: flags.timeout }),
  };
  if (flags.task !== undefined)
    return { source: { task: flags.task }, options, inputs: [], fileName: filesOfTask(flags.task), unsent: new Map() };
  const code = isBundled ? await bundled(file!, flags, esbuildFlags) : await plain(file!);
  if (code.text.length < MOST_BLANK && code.text.trim() === "")
    throw new UsageError(`${file === "-" ? "stdin" : file} is empty; it must contain code`);
  const named = flags.file ?? code.file;
  const packages = packagesOf(flags.package, "--package") ?? (isBundled ? undefined : packagesOfProject("."));
  return {
    source: code.text,
    options: {
      ...options,
      ...(code.modules && { modules: code.modules }),
      ...(packages && { packages }),
      ...(named !== null && named.length <= MAX_FILE_CHARS && { file: named }),
      ...(flags.query && { query: queryOf(flags.query) }),
    },
    inputs: code.inputs,
    unsent: code.unsent,
    fileName: filesBelow(path.dirname(file!), new Set(Object.keys(code.modules ?? {}))),
  };
}

interface Code {
  readonly text: string;
  readonly modules: Readonly<Record<string, string>> | null;
  /** The name in positions and stacks; null if a source map has the names. */
  readonly file: string | null;
  readonly inputs: readonly string[];
  readonly unsent: ReadonlyMap<string, string>;
}

async function bundled(file: string, { esbuild }: RunFlags, esbuildFlags: readonly string[]): Promise<Code> {
  const text = textOf(await bundle(file, esbuild, esbuildFlags), file);
  return { text, modules: null, file: null, inputs: [file, ...inputsOfBundle(text)], unsent: new Map() };
}

/** The ends of the names of files with code. */
const ENDINGS = [".ts", ".js", ".mts", ".mjs", ".cts", ".cjs"];

async function plain(file: string): Promise<Code> {
  if (file === "-")
    return {
      text: textOf(await buffer(process.stdin), "stdin"),
      modules: null,
      file: null,
      inputs: [],
      unsent: new Map(),
    };
  const whole = existsSync(file) ? undefined : ENDINGS.map((end) => file + end).find((each) => existsSync(each));
  if (whole !== undefined)
    throw new UsageError(`there is no file ${file} in ${process.cwd()}; did you mean caisson run ${whole}?`);
  // A word without an ending is more often the name of a task than that of a file.
  if (/^[\w-]+$/.test(file) && !existsSync(file))
    throw new UsageError(`there is no file ${file} in ${process.cwd()}; did you mean --task ${file}?`);
  const [, container, task] = /^([\w@.-]+)\/([\w@-]+)$/.exec(file) ?? [];
  if (container !== undefined && !existsSync(file) && !existsSync(container))
    throw new UsageError(
      `there is no file ${file} in ${process.cwd()}; did you mean --task ${task} --container ${container}?`,
    );
  const { code, modules, unsent } = readSource(file);
  const inputs = [file, ...Object.keys(modules ?? {}).map((name) => path.join(path.dirname(file), name))];
  return { text: code, modules, file: path.normalize(file), inputs, unsent };
}

function refuseContradictions(
  file: string | undefined,
  flags: RunFlags,
  isBundled: boolean,
  esbuildFlags: readonly string[],
): void {
  const { task, query } = flags;
  if ((file === undefined) === (task === undefined))
    throw new UsageError("name a file, such as caisson run task.ts, or a deployed task with --task");
  if (isBundled && file === "-")
    throw new UsageError("--bundle needs a file, because imports are resolved from its folder");
  const word = esbuildFlags.find((each) => !each.startsWith("-"));
  if (!isBundled && word !== undefined) {
    const pair = surplusPair(["--query"], word);
    if (pair !== null) throw new UsageError(`run takes one file; ${pair}`);
    if (/^\s*[[{"]/.test(word))
      throw new UsageError(
        "run takes one file; the input goes to --input, and --json takes no value: caisson run " +
          `${file ?? "task.ts"} --input '{"name": "you"}'`,
      );
    // Neither is a file: a container and a task, as in the URL of a task.
    if (file !== undefined && ![file, word].some((each) => existsSync(each) || /[./]/.test(each)))
      throw new UsageError(
        `run takes a file; for a deployed task, write: caisson run --task ${word} --container ${file}`,
      );
    const [name, container] = existsSync(word) ? [word, file] : [file, word];
    throw new UsageError(`run takes one file; for a container, write: caisson run ${name} --container ${container}`);
  }
  if (!isBundled && esbuildFlags.length > 0)
    throw new UsageError(`${esbuildFlags.join(" ")} is for esbuild; add --bundle`);
  if (task === undefined) return;
  const wrong = isBundled
    ? "--bundle"
    : query
      ? "--query"
      : flags.package
        ? "--package"
        : flags.file === undefined
          ? null
          : "--file";
  if (wrong !== null) throw new UsageError(`${wrong} is for the code of a file, and --task runs a deployed task`);
}

/** Returns the text of `--input`, or the content of the file that it names after `@`, which no JSON begins with. */
async function inputOf(input: string, file: string | undefined): Promise<string> {
  if (!input.startsWith("@")) return input;
  if (input !== "@-") return readText(input.slice(1));
  if (file === "-") throw new UsageError("the code and --input cannot both be read from stdin");
  return textOf(await buffer(process.stdin), "stdin");
}

/** Parses the input. Its numbers stay as they are written, because JavaScript would round some of them. */
function dataOf(input: string, given: string): unknown {
  try {
    return JSON.parse(input, ((_: string, value: unknown, { source }: { source?: string }) =>
      typeof value === "number" && source !== undefined ? rawJSON(source) : value) as (
      key: string,
      value: unknown,
    ) => unknown);
  } catch (error) {
    const form =
      input === given && isFileName(input)
        ? `did you mean --input @${input}? With @, the input is the content of the file`
        : `JSON has names and texts in double quotes, such as '{"name": "you"}'`;
    throw new UsageError(`--input is not JSON: ${(error as Error).message}; ${form}`, { cause: error });
  }
}

function isFileName(text: string): boolean {
  return (
    /^[\w./-]+\.json$/.test(text) ||
    (/^[\w./-]+$/.test(text) && statSync(text, { throwIfNoEntry: false })?.isFile() === true)
  );
}

const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

function queryOf(texts: readonly string[]): string {
  const pairs = texts.map((pair): [string, string] => {
    const at = pair.indexOf("=");
    if (at < 1)
      throw new UsageError(
        `--query ${pair} is not name=value, such as --query ${/^\w+$/.test(pair) ? pair : "name"}=6`,
      );
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return new URLSearchParams(pairs).toString();
}
