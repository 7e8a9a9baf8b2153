import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { getCompileCacheDir, stripTypeScriptTypes } from "node:module";
import path from "node:path";

/** A folder in Node's compile cache, which belongs to this user and this version of Node. */
const FOLDER = "stripped";
const DIGEST_CHARS = 64;

/**
 * Strips the types of a module. Loading the stripper and stripping the guest program takes 0.15 s of processor time. The
 * result is cached next to Node's compiled code of the service's own modules, and is trusted like that code.
 */
export async function strip(source: string): Promise<string> {
  const folder = getCompileCacheDir();
  if (folder === undefined) return stripTypeScriptTypes(source);
  const file = path.join(folder, FOLDER, digestOf(source));
  const cached = await readFile(file, "utf8").catch(() => "");
  const text = cached.slice(DIGEST_CHARS);
  // A power failure may leave a file that is cut off.
  if (text !== "" && cached.startsWith(digestOf(text))) return text;
  const stripped = stripTypeScriptTypes(source);
  await writeCache(file, digestOf(stripped) + stripped).catch(ignore);
  return stripped;
}

async function writeCache(file: string, content: string): Promise<void> {
  const unfinished = `${file}.${randomUUID()}`;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(unfinished, content, { mode: 0o600 });
  await rename(unfinished, file);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A folder that cannot be written, such as that of another user, costs time only: each start strips again. */
function ignore(): void {}
