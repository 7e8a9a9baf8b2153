import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";

import { bundle } from "./bundle.ts";
import type { RunFlags } from "./flags.ts";

/** The body of a run. */
export interface RunBody {
  readonly type: string;
  readonly bytes: Buffer;
}

/** @throws {Error} if the file cannot be read or bundled, or the input is not JSON. */
export async function readCode(file: string, flags: RunFlags, esbuildFlags: readonly string[]): Promise<RunBody> {
  const bundles = flags.bundle === true || flags.esbuild !== undefined;
  if (bundles && file === "-") throw new Error("--bundle needs a file, because imports are resolved from its folder");
  if (!bundles && esbuildFlags.length > 0) throw new Error(`${esbuildFlags.join(" ")} is for esbuild; add --bundle`);
  const code = bundles ? await bundle(file, flags.esbuild, esbuildFlags) : await contentOf(file);
  if (isBlank(code)) throw new Error(`${file === "-" ? "stdin" : file} is empty; it must contain code`);
  if (flags.input !== undefined) return { type: "application/json", bytes: envelope(code, flags.input) };
  const isTypeScript = !bundles && /\.[cm]?tsx?$/.test(file);
  return { type: isTypeScript ? "application/typescript" : "text/javascript", bytes: code };
}

function isBlank(code: Buffer): boolean {
  return code.length < MOST_BLANK && code.toString("latin1").trim() === "";
}

/** A longer text of only white space is left to the service. */
const MOST_BLANK = 4_096;

async function contentOf(file: string): Promise<Buffer> {
  if (file === "-") return buffer(process.stdin);
  try {
    return await readFile(file);
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Creates the envelope with the unchanged text of the data, because JavaScript would round some numbers of JSON. */
function envelope(code: Buffer, input: string): Buffer {
  try {
    JSON.parse(input);
  } catch (error) {
    throw new Error(`--input is not JSON: ${(error as Error).message}`, { cause: error });
  }
  return Buffer.from(`{"code":${JSON.stringify(textOf(code))},"data":${input}}`);
}

function textOf(code: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(code);
  } catch (error) {
    throw new Error("the code is not UTF-8", { cause: error });
  }
}
