import { createHash } from "node:crypto";

import { CHECKSUMS, type Part, partOf } from "./part.ts";
import { BLOCK_BYTES, writeHeader } from "./tar-header.ts";

/**
 * Writes parts as a tar that ends with their checksums. It keeps one chunk in memory.
 *
 * @throws {Error} if a part has another length than it announced.
 */
export async function* tarOf(parts: AsyncIterable<Part>, nowMs: number): AsyncGenerator<Buffer> {
  const lines: string[] = [];
  for await (const part of parts) {
    const hash = createHash("sha256");
    for await (const chunk of entryOf(part, nowMs)) {
      if (chunk.isContent) hash.update(chunk.bytes);
      yield chunk.bytes;
    }
    lines.push(`${hash.digest("hex")}  ${part.name}\n`);
  }
  for await (const { bytes } of entryOf(partOf(CHECKSUMS, lines.join("")), nowMs)) yield bytes;
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

async function* entryOf(
  { name, bytes, content }: Part,
  nowMs: number,
): AsyncGenerator<{ bytes: Buffer; isContent: boolean }> {
  yield { bytes: writeHeader({ name, bytes }, nowMs), isContent: false };
  let written = 0;
  for await (const chunk of content) {
    written += chunk.length;
    yield { bytes: chunk, isContent: true };
  }
  if (written !== bytes) throw new Error(`${name} has ${written} bytes instead of ${bytes}`);
  const padding = (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
  if (padding > 0) yield { bytes: Buffer.alloc(padding), isContent: false };
}
