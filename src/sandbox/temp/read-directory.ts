import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";

/** The number of entries that are in memory at a time. A guest can create millions. */
const BATCH_ENTRIES = 256;
const SLASH = Buffer.from("/");

/**
 * Yields the entries of a folder that a guest has written to, each with its path. Names are bytes, because a guest's file
 * names may be invalid UTF-8: converted to text, a name would not find its file.
 */
export async function* readDirectory(folder: string | Buffer): AsyncGenerator<[path: Buffer, entry: Dirent]> {
  const start = Buffer.concat([Buffer.from(folder as string), SLASH]);
  // Node's types allow only strings as names and folders.
  const options = { encoding: "buffer" as BufferEncoding, bufferSize: BATCH_ENTRIES };
  for await (const entry of await opendir(folder, options)) {
    yield [Buffer.concat([start, entry.name as unknown as Buffer]), entry];
  }
}
