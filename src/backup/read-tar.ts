import { ByteReader, EndedEarly } from "./byte-reader.ts";
import { isPartName, type Part } from "./part.ts";
import { BLOCK_BYTES, readHeader } from "./tar-header.ts";

/** The most parts. A backup has a part for each day of records, and few others. */
const MOST_PARTS = 10_000;

/**
 * Reads the parts of a tar. The reader of a part must read its content before the next part.
 *
 * @throws {Error} if it has anything else than plain files with the names of a backup, each once, or no end.
 */
export async function* readTar(chunks: AsyncIterable<Buffer>): AsyncGenerator<Part> {
  const reader = new ByteReader(chunks);
  const names = new Set<string>();
  for (;;) {
    const block = await reader.take(BLOCK_BYTES);
    if (block === null) throw new EndedEarly();
    const entry = readHeader(block);
    if (entry === null) return;
    const { name, bytes } = entry;
    if (!isPartName(name)) throw new Error(`the entry ${JSON.stringify(name)} is no part of a backup of caisson`);
    if (names.has(name)) throw new Error(`the entry ${name} is there twice`);
    if (names.size === MOST_PARTS) throw new Error(`it has more than ${MOST_PARTS} entries`);
    names.add(name);
    yield { name, bytes, content: reader.stream(bytes) };
    const padding = (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
    if (padding > 0 && (await reader.take(padding)) === null) throw new EndedEarly();
  }
}
