import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";

/** The flags that give secrets, in the order in which each was given. */
export interface SecretFlags {
  /** `KEY=VALUE`, or `KEY` for the value of the environment variable of that name. */
  readonly secret?: readonly string[];
  /** `KEY=PATH`; the path `-` is stdin. */
  readonly secretFile?: readonly string[];
}

/** Where secrets are taken from that do not stand in the flags themselves. */
export interface SecretSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** @throws {Error} when it cannot be read. */
  readonly read: (path: string) => Promise<Buffer>;
}

/** Of this process. */
export const SOURCES: SecretSources = {
  environment: process.env,
  read: async (path) => (path === "-" ? buffer(process.stdin) : readFile(path)),
};

/**
 * The secrets by their names, or nothing where no flag gives any.
 *
 * The faults name no value, and not what stands without one either: it may be a value whose name was forgotten.
 */
export async function secretsOf(
  { secret = [], secretFile = [] }: SecretFlags,
  { environment, read }: SecretSources,
  fault: (text: string) => void,
): Promise<Record<string, string> | undefined> {
  if (secret.length + secretFile.length === 0) return undefined;
  const pairs: [string, string][] = [];
  for (const [at, text] of secret.entries()) {
    const [key, given] = splitPair(text);
    const value = given ?? environment[key];
    if (key === "") fault("--secret must be KEY=VALUE, or KEY for the value of an environment variable");
    else if (value === undefined)
      fault(`--secret number ${at + 1} has no value, and no environment variable has that name`);
    pairs.push([key, value ?? ""]);
  }
  if (secretFile.filter((text) => splitPair(text)[1] === "-").length > 1) fault("--secret-file may name - once");
  for (const text of secretFile) {
    const [key, path] = splitPair(text);
    if (key === "" || !path) fault("--secret-file must be KEY=PATH, or KEY=- for what comes on stdin");
    else pairs.push([key, await fileText(path, read, (why) => fault(`--secret-file ${key} ${why}`))]);
  }
  const keys = pairs.map(([key]) => key).filter((key) => key !== "");
  for (const key of new Set(keys.filter((name, at) => keys.indexOf(name) !== at))) {
    fault(`--secret gives ${JSON.stringify(key)} more than once`);
  }
  return Object.fromEntries(pairs);
}

function splitPair(text: string): [string, string?] {
  const at = text.indexOf("=");
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** Without the one line end that editors and `echo` put behind it. */
async function fileText(path: string, read: SecretSources["read"], fault: (why: string) => void): Promise<string> {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await read(path));
    return text.replace(/\r?\n$/, "");
  } catch (error) {
    fault(error instanceof TypeError ? "is no text in UTF-8" : `cannot be read: ${(error as Error).message}`);
    return "";
  }
}
