import { readFile, stat } from "node:fs/promises";

import { typeOf } from "./console-files.ts";

const MAX_BYTES = 64 * 2 ** 10;

export interface Logo {
  readonly type: string;
  readonly bytes: Buffer;
}

/** @throws {Error} if the file cannot be read, or is not an SVG or PNG of at most 64 KiB; the message has the flag */
export async function readLogo(file: string | null): Promise<Logo | null> {
  if (file === null) return null;
  const type = typeOf(file);
  if (!type.startsWith("image/")) throw new Error(`--console-logo names ${file}, which does not end with .svg or .png`);
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES) throw new Error(`it has ${size} bytes, and at most 64 KiB are shown`);
    return { type, bytes: await readFile(file) };
  } catch (error) {
    throw new Error(`--console-logo names ${file}, which cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
