import { readdirSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";

import { readPrivate, writePrivate } from "./tokens/private-file.ts";

/**
 * The parts of a data folder whose loss would permit what was forbidden, and what a start without them would do. Without other
 * parts the service can do less, and callers notice it.
 */
const PARTS: Readonly<Record<string, string>> = {
  "tokens.sqlite": "revoked tokens would be valid again",
  "policies.sqlite": "suspended containers would run again, without their limits",
  limits: "counted runs would be forgotten",
};

/** The file with the names of the parts that the folder has had. A folder of an earlier release gets it at its next start. */
const RECORD = "parts.json";
/** The version of the format. */
const VERSION = 1;

/** What a start refuses. */
export interface LostPart {
  readonly fact: string;
  readonly remedy: string;
}

/**
 * Refuses a folder that has lost a part. Call it before a store is opened, because opening creates what is missing.
 *
 * @param folder the data folder as this process reaches it
 * @param name the folder as messages name it
 * @throws {Error} with the remedy.
 */
export async function refuseLostPart(folder: string, name: string): Promise<void> {
  const lost = await findLostPart(folder, name);
  if (lost) throw new Error(`${lost.fact}; ${lost.remedy}`);
}

/** Returns the first part that is missing or empty, and was there at an earlier start; null if the folder is complete. */
export async function findLostPart(folder: string, name: string): Promise<LostPart | null> {
  const had = await readRecord(folder);
  if (had === null) {
    return {
      fact: `${path.join(name, RECORD)} is damaged, or a newer release wrote it`,
      remedy: `check that no file is missing in ${name}, and delete it: the next start writes it`,
    };
  }
  const part = had.find((each) => !isThere(folder, each));
  if (part === undefined) return null;
  return {
    fact: `${path.join(name, part)} was there at an earlier start, and is missing or empty now, so ${PARTS[part]}`,
    remedy: `restore a backup into a new folder; to start without it, delete ${path.join(name, RECORD)}`,
  };
}

/** Records the parts that the folder has now, after all stores are open. Parts that it has had stay on record. */
export async function recordParts(folder: string): Promise<void> {
  const before = (await readRecord(folder)) ?? [];
  const added = Object.keys(PARTS).filter((part) => !before.includes(part) && isThere(folder, part));
  if (added.length === 0) return;
  // Without this a loss of power could leave an empty file, and the next start would refuse the folder.
  if (added.includes("limits")) await syncCounts(path.join(folder, "limits"));
  await writePrivate(
    path.join(folder, RECORD),
    `${JSON.stringify({ version: VERSION, parts: [...before, ...added] })}\n`,
    {
      replace: true,
    },
  );
}

/** Returns the recorded parts; null if the record cannot be used. @throws {Error} if it cannot be read. */
async function readRecord(folder: string): Promise<string[] | null> {
  const text = await readPrivate(path.join(folder, RECORD));
  return text === undefined ? [] : parse(text);
}

function parse(text: string): string[] | null {
  try {
    const { version, parts } = JSON.parse(text) as { version?: unknown; parts?: unknown };
    if (version !== VERSION || !Array.isArray(parts)) return null;
    return parts.every((part) => typeof part === "string" && Object.hasOwn(PARTS, part)) ? (parts as string[]) : null;
  } catch {
    return null;
  }
}

/** An empty database or journal is no part: SQLite and the counts would begin again in it without a word. */
function isThere(folder: string, part: string): boolean {
  const place = path.join(folder, part);
  const found = statSync(place, { throwIfNoEntry: false });
  if (found === undefined) return false;
  return found.isDirectory() ? countFiles(place).some((file) => statSync(file).size > 0) : found.size > 0;
}

function countFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^(?:journal|snapshot)-\d+$/.test(name))
    .map((name) => path.join(folder, name));
}

async function syncCounts(folder: string): Promise<void> {
  for (const place of [...countFiles(folder), folder]) {
    await using handle = await open(place, "r");
    await handle.sync();
  }
}
