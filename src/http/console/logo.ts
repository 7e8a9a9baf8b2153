import { readFile, stat } from "node:fs/promises";

import { typeOf } from "./console-files.ts";

const MAX_BYTES = 64 * 2 ** 10;

export interface Logo {
  readonly type: string;
  readonly bytes: Buffer;
}

/** @throws {Error} if the file cannot be read, or is no SVG or PNG of at most 64 KiB */
export async function readLogo(file: string): Promise<Logo> {
  const type = typeOf(file);
  if (!type.startsWith("image/")) throw new Error(`--console-logo names ${file}, which does not end with .svg or .png`);
  const { size } = await stat(file);
  if (size > MAX_BYTES) throw new Error(`--console-logo names a file of ${size} bytes; at most 64 KiB are shown`);
  return { type, bytes: await readFile(file) };
}
