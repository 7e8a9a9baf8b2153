import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";

/** The flags for secrets, in the order of the command line. */
export interface SecretFlags {
  /** `KEY=VALUE`, or `KEY` for the value of the environment variable of that name. */
  readonly secret?: readonly string[];
  /** `KEY=PATH`; the path `-` is stdin. */
  readonly secretFile?: readonly string[];
}

/** The sources of secrets whose values are not in the flags. */
export interface SecretSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** @throws {Error} if the file cannot be read. */
  readonly read: (path: string) => Promise<Buffer>;
}

/** The sources of this process. */
export const SOURCES: SecretSources = {
  environment: process.env,
  read: async (path) => (path === "-" ? buffer(process.stdin) : readFile(path)),
};

/**
 * Returns the secrets by name, or undefined if no flag sets a secret.
 *
 * The faults contain no value, and no text without `=` either, because it may be a value whose name was forgotten.
 */
export async function secretsOf(
  { secret = [], secretFile = [] }: SecretFlags,
  { environment, read }: SecretSources,
  fault: (text: string) => void,
): Promise<Record<string, string> | undefined> {
  if (secret.length + secretFile.length === 0) return undefined;
  const pairs: [string, string][] = [];
  for (const [at, text] of secret.entries()) {
    const [key, inline] = splitPair(text);
    const value = inline ?? environment[key];
    if (key === "") fault("--secret must be KEY=VALUE, or KEY for the value of an environment variable");
    else if (value === undefined)
      fault(
        `--secret number ${at + 1} has no value, and no environment variable has that name: set the variable and export it, or use --secret-file KEY=PATH`,
      );
    pairs.push([key, value ?? ""]);
  }
  if (secretFile.filter((text) => splitPair(text)[1] === "-").length > 1) fault("--secret-file may use - only once");
  for (const text of secretFile) {
    const [key, path] = splitPair(text);
    if (key === "" || !path) fault("--secret-file must be KEY=PATH, or KEY=- for stdin");
    else pairs.push([key, await fileText(path, read, (why) => fault(`--secret-file ${key} ${why}`))]);
  }
  const keys = pairs.map(([key]) => key).filter((key) => key !== "");
  for (const key of new Set(keys.filter((name, at) => keys.indexOf(name) !== at))) {
    fault(`--secret sets ${JSON.stringify(key)} more than once`);
  }
  return Object.fromEntries(pairs);
}

function splitPair(text: string): [string, string?] {
  const at = text.indexOf("=");
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** Reads a file without the line end that editors and `echo` add. */
async function fileText(path: string, read: SecretSources["read"], fault: (why: string) => void): Promise<string> {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await read(path));
    return text.replace(/\r?\n$/, "");
  } catch (error) {
    fault(error instanceof TypeError ? "is not UTF-8 text" : `cannot be read: ${(error as Error).message}`);
    return "";
  }
}
