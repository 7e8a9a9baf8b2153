import { closeSync, existsSync, openSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

import type { Anchor } from "../../clock.ts";
import type { Folder } from "./folder.ts";
import { readFrames, type FramesEnd } from "./frames.ts";
import { JournalFile } from "./journal-file.ts";
import { readRecords, START_BYTES, VersionError } from "./records.ts";
import { Replay } from "./replay.ts";
import type { KeyTable } from "./table.ts";

export interface Recovered {
  table: KeyTable;
  /** The newest time on record, in milliseconds since 1970, or 0. */
  newest: number;
  anchor: Anchor | undefined;
  /** The journal to go on with. */
  journal: JournalFile;
  /** How many ids it has given out. */
  ids: number;
  snapshotBytes: number;
  /** Of all journals that the newest snapshot does not hold. */
  journalBytes: number;
}

/**
 * Reads the newest snapshot and the journals after it. A frame that a crash tore off the end of the last journal was never
 * answered for, and is dropped.
 *
 * @throws {Error} naming the file and the remedy, when anything else is wrong: to go on would be to count too little.
 */
export async function recover(folder: Folder): Promise<Recovered> {
  const { journals, snapshots } = folder.list();
  const newestSnapshot = snapshots.at(-1) ?? 0;
  const replay = new Replay();
  let snapshotBytes = 0;
  if (newestSnapshot > 0) {
    const path = folder.snapshot(newestSnapshot);
    const { end } = read(folder, path, replay);
    snapshotBytes = statSync(path).size;
    if (end !== "whole" || !replay.complete) throw damage(folder, path, `ends too early, at byte ${snapshotBytes}`);
  }
  const first = newestSnapshot || 1;
  const last = lastBegun(folder, first, journals);
  let bytes = 0;
  let journalBytes = 0;
  for (let number = first; number <= last; number++) {
    const path = folder.journal(number);
    if (!existsSync(path)) {
      if (newestSnapshot === 0 && journals.length === 0) break;
      throw damage(folder, path, "is missing");
    }
    replay.beginJournal();
    const frames = read(folder, path, replay);
    if (frames.end === "torn" && number < last) {
      throw damage(folder, path, `ends inside the record at byte ${frames.bytes}`);
    }
    bytes = frames.bytes;
    journalBytes += bytes;
  }
  const journal = openJournal(folder, last, bytes, replay.newest);
  replay.giveIds(journal.number);
  await folder.tidy(newestSnapshot);
  const { table, newest, newestAnchor: anchor, ids } = replay;
  return { table, newest, anchor, journal, ids, snapshotBytes, journalBytes };
}

/**
 * A journal that holds nothing yet may be there because its making was cut short, or failed where it could not be taken
 * back: then the one before it went on, and may have a torn end.
 */
export function lastBegun(folder: Folder, first: number, journals: readonly number[]): number {
  return journals.findLast((number) => number > first && isBegun(folder.journal(number))) ?? first;
}

function isBegun(path: string): boolean {
  if (statSync(path).size > START_BYTES) return true;
  const file = openSync(path, "r");
  try {
    return readFrames(file, () => {}).end === "damaged";
  } finally {
    closeSync(file);
  }
}

function read(folder: Folder, path: string, replay: Replay): FramesEnd {
  const file = openSync(path, "r");
  try {
    const frames = readFrames(file, (payload, at) => {
      try {
        readRecords(payload, replay);
      } catch (error) {
        if (error instanceof VersionError) throw new Error(`${resolve(path)}: ${error.message}`, { cause: error });
        throw damage(folder, path, `cannot be read at byte ${at}: ${(error as Error).message}`, error);
      }
    });
    if (frames.end !== "damaged") return frames;
    throw damage(folder, path, `cannot be read at byte ${frames.bytes}: the record has a wrong checksum`);
  } finally {
    closeSync(file);
  }
}

function openJournal(folder: Folder, number: number, bytes: number, newest: number): JournalFile {
  const path = folder.journal(number);
  if (bytes > 0) return JournalFile.reopen(path, number, bytes);
  // There is none yet, or its making was cut short.
  rmSync(path, { force: true });
  return JournalFile.create(path, number, newest);
}

function damage(folder: Folder, file: string, what: string, cause?: unknown): Error {
  const data = dirname(resolve(folder.path));
  return new Error(
    `the rate limit file ${resolve(file)} ${what}, so runs that were counted would be forgotten. ` +
      `Restore ${resolve(folder.path)} from a backup, or let "caisson limits repair --data ${data}" show what can be kept`,
    { cause },
  );
}
