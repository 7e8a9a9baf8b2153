import { closeSync, existsSync, openSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

import type { Anchor } from "../../steady-clock.ts";
import { readRecords, START_BYTES, VersionError } from "./count-records.ts";
import type { Folder } from "./folder.ts";
import { JournalFile } from "./journal-file.ts";
import { readFrames, type FramesEnd } from "./journal-frames.ts";
import type { KeyTable } from "./key-table.ts";
import { Replay } from "./replay.ts";

export interface Recovered {
  table: KeyTable;
  /** The newest time on record, in milliseconds since 1970, or 0. */
  newest: number;
  anchor: Anchor | undefined;
  /** The journal to continue. */
  journal: JournalFile;
  /** How many ids the journal has assigned. */
  ids: number;
  snapshotBytes: number;
  /** The bytes of all journals newer than the newest snapshot. */
  journalBytes: number;
}

/**
 * Reads the newest snapshot and the journals after it. If a crash tore the last frame of the last journal, that frame was
 * never acknowledged, and recovery drops it.
 *
 * @throws {Error} naming the file and the remedy, when anything else is wrong. Continuing would count too few runs.
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
  replay.assignIds(journal.number);
  await folder.tidy(newestSnapshot);
  const { table, newest, newestAnchor: anchor, ids } = replay;
  return { table, newest, anchor, journal, ids, snapshotBytes, journalBytes };
}

/**
 * Returns the number of the last journal that counts as begun. A later journal without records exists if its creation was
 * interrupted, or failed and could not be undone. The service then continued the journal before it, which may have a torn end.
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
  // The file does not exist, or its creation was interrupted.
  rmSync(path, { force: true });
  return JournalFile.create(path, number, newest);
}

function damage(folder: Folder, file: string, fault: string, cause?: unknown): Error {
  const data = dirname(resolve(folder.path));
  return new Error(
    `the rate limit file ${resolve(file)} ${fault}, so counted runs would be lost. ` +
      `Restore ${resolve(folder.path)} from a backup, or run "caisson limits repair --data ${data}" to see what can be recovered`,
    { cause },
  );
}
