import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";

import { ConfigError } from "../config/read.ts";
import { type About, readAbout } from "./formats.ts";
import { ABOUT, CHECKSUMS, type Part } from "./part.ts";
import { readTar } from "./read-tar.ts";
import { RESTORED } from "./unfinished-restore.ts";

/** What an unused data folder may have: the lock of this process, an attempt that moved nothing, and a folder of the disk. */
const UNUSED: ReadonlySet<string> = new Set(["lock", RESTORED, "lost+found"]);
/** The most bytes of the parts that are read into memory. */
const MOST_TEXT_BYTES = 2 ** 20;

/** @throws {ConfigError} if the current folder has anything that a restore could mix with. */
export function refuseUsedFolder(name: string): void {
  const found = readdirSync(".").filter((each) => !UNUSED.has(each));
  if (found.length === 0) return;
  const shown = found.toSorted().slice(0, 3).join(", ");
  throw new ConfigError(`--data: ${name} is not empty (${shown}); restore into a new or empty folder`);
}

/**
 * Restores a backup into the current folder, which must be unused and locked by this process. The folder is unchanged if the
 * backup has a fault.
 *
 * @throws {ConfigError} if the file is not a whole backup that this release reads.
 * @throws the system's error.
 */
export async function restore(file: AsyncIterable<Buffer>): Promise<About> {
  rmSync(RESTORED, { recursive: true, force: true });
  mkdirSync(RESTORED, { mode: 0o700 });
  let about: About;
  try {
    about = await collect(readTar(file));
  } catch (error) {
    rmSync(RESTORED, { recursive: true, force: true });
    // Errors of the system have a code, and are not about the content of the file.
    if (!(error instanceof Error) || "code" in error) throw error;
    throw new ConfigError(`--from: the file is no backup that can be restored: ${error.message}`, { cause: error });
  }
  // A start refuses the folder until the last of these steps.
  for (const name of readdirSync(RESTORED)) renameSync(path.join(RESTORED, name), name);
  await sync(".");
  rmdirSync(RESTORED);
  await sync(".");
  return about;
}

/** Writes all parts to the folder of the restore, and checks them. */
async function collect(parts: AsyncIterable<Part>): Promise<About> {
  let about: About | undefined;
  let expected: string | undefined;
  const sums: string[] = [];
  const written = new Set<string>();
  for await (const part of parts) {
    if (expected !== undefined) throw new Error(`${part.name} follows the checksums`);
    if ((part.name === ABOUT) !== (about === undefined)) throw new Error(`${ABOUT} is not its first entry`);
    if (part.name === CHECKSUMS) {
      expected = await textOf(part);
    } else if (part.name === ABOUT) {
      const content = await textOf(part);
      about = readAbout(content);
      sums.push(lineOf(ABOUT, createHash("sha256").update(content).digest("hex")));
    } else {
      const to = path.join(RESTORED, part.name);
      written.add(to).add(path.dirname(to));
      sums.push(lineOf(part.name, await writePart(part, to)));
    }
  }
  if (about === undefined || expected === undefined) throw new Error("it ends before its checksums");
  if (expected !== sums.join("")) throw new Error(faultOf(expected, sums));
  for (const each of written) await sync(each);
  return about;
}

/** @returns the SHA-256 of the content. */
async function writePart({ content }: Part, to: string): Promise<string> {
  mkdirSync(path.dirname(to), { recursive: true, mode: 0o700 });
  const hash = createHash("sha256");
  await using handle = await open(to, "wx", 0o600);
  await handle.writeFile(hashed(content, hash));
  return hash.digest("hex");
}

async function* hashed(content: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
}

async function textOf({ name, bytes, content }: Part): Promise<string> {
  if (bytes > MOST_TEXT_BYTES) throw new Error(`${name} has ${bytes} bytes`);
  return await text(content);
}

function lineOf(name: string, sum: string): string {
  return `${sum}  ${name}\n`;
}

function faultOf(expected: string, sums: readonly string[]): string {
  const damaged = sums.find((line) => !expected.includes(line));
  return damaged ? `the checksum of ${damaged.trimEnd().slice(66)} is wrong` : "a part is missing";
}

/** Makes a file, or the names in a folder, survive a loss of power. */
async function sync(file: string): Promise<void> {
  await using handle = await open(file, "r");
  await handle.sync();
}
