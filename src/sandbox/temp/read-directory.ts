import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";

/** Few at a time are in memory: a guest makes millions. */
const AT_ONCE = 256;
const SLASH = Buffer.from("/");

/**
 * What lies in a folder that a guest has written to, each with its path. Names are bytes, and those of a guest need not be
 * text: read as text, such a name would be that of nothing.
 */
export async function* readDirectory(folder: string | Buffer): AsyncGenerator<[path: Buffer, entry: Dirent]> {
  const start = Buffer.concat([Buffer.from(folder as string), SLASH]);
  // The types know no names and folders but strings.
  const options = { encoding: "buffer" as BufferEncoding, bufferSize: AT_ONCE };
  for await (const entry of await opendir(folder, options)) {
    yield [Buffer.concat([start, entry.name as unknown as Buffer]), entry];
  }
}
