import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { getCompileCacheDir, stripTypeScriptTypes } from "node:module";
import path from "node:path";

/** In the folder in which Node keeps what it has compiled, for this user and this version of Node. */
const FOLDER = "stripped";
const DIGEST_CHARS = 64;

/**
 * Strips the types of a module. To load what strips them and to strip the guest's program takes 0.15 s of processor time, so
 * that the result is kept beside what Node keeps of the service's own modules. It is as trusted as those.
 */
export async function strip(source: string): Promise<string> {
  const folder = getCompileCacheDir();
  if (folder === undefined) return stripTypeScriptTypes(source);
  const file = path.join(folder, FOLDER, digestOf(source));
  const kept = await readFile(file, "utf8").catch(() => "");
  const text = kept.slice(DIGEST_CHARS);
  // A loss of power may have left a file that is cut.
  if (text !== "" && kept.startsWith(digestOf(text))) return text;
  const stripped = stripTypeScriptTypes(source);
  await keep(file, digestOf(stripped) + stripped).catch(ignore);
  return stripped;
}

async function keep(file: string, content: string): Promise<void> {
  const unfinished = `${file}.${randomUUID()}`;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(unfinished, content, { mode: 0o600 });
  await rename(unfinished, file);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Without it each start strips again: the folder may be another user's, or read-only. */
function ignore(): void {}
