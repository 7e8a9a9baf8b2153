import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import path from "node:path";

const DIGEST_CHARS = 64;

/**
 * Returns the result of a slow computation from Node's compile cache, or computes it and stores it there. The cache belongs to
 * this user and this version of Node, and its content is trusted like Node's compiled code of the service's own modules.
 *
 * @param kind a name for the folder in the cache.
 * @param source everything that determines the result.
 */
export async function cachedFile(kind: string, source: string, compute: () => Promise<Buffer>): Promise<Buffer> {
  const folder = getCompileCacheDir();
  if (folder === undefined) return await compute();
  const file = path.join(folder, kind, digestOf(source));
  const cached = await readFile(file).catch(() => Buffer.alloc(0));
  const content = cached.subarray(DIGEST_CHARS);
  // A power failure may leave a file that is cut off.
  if (content.length > 0 && cached.toString("latin1", 0, DIGEST_CHARS) === digestOf(content)) return content;
  const computed = await compute();
  await writeCache(file, Buffer.concat([Buffer.from(digestOf(computed)), computed])).catch(ignore);
  return computed;
}

async function writeCache(file: string, content: Buffer): Promise<void> {
  const unfinished = `${file}.${randomUUID()}`;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(unfinished, content, { mode: 0o600 });
  await rename(unfinished, file);
}

function digestOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A folder that cannot be written, such as that of another user, costs time only: each start computes again. */
function ignore(): void {}
