import { closeSync, copyFileSync, existsSync, linkSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

import { readRecords, VersionError } from "./count-records.ts";
import { Folder } from "./folder.ts";
import { JournalFile } from "./journal-file.ts";
import { readFrames, salvageFrames } from "./journal-frames.ts";
import { lastBegun, recover } from "./recovery.ts";
import { Replay } from "./replay.ts";
import { Snapshot } from "./snapshot.ts";

/** The length of the shortest admission, which counts against one key: `count-records.ts`. */
const ADMISSION_BYTES = 11;
/** The length of the shortest counts of a key: a name of one letter, and one entry. */
const COUNTS_BYTES = 22;

/** A part of a file that cannot be read. */
export interface Loss {
  readonly file: string;
  readonly at: number;
  readonly bytes: number;
  /** A text that states what is lost, at most. */
  readonly what: string;
}

/** What can be recovered from a folder of counts, and what is lost. */
export interface Salvage {
  readonly losses: readonly Loss[];
  /** How many keys have counts in what can be read. */
  readonly keys: number;
  /** Writes all readable counts to new files. @returns the folder with a copy of the old files */
  rewrite(): Promise<string>;
}

/**
 * Reads as much as possible of a folder's counts: all valid records, including records after damage. Changes nothing. No
 * service may use the folder.
 *
 * @param path the folder of the store
 * @throws {Error} when another release wrote the folder.
 */
export function salvage(path: string): Salvage {
  const folder = new Folder(path);
  const { journals, snapshots } = folder.list();
  const replay = new Replay(true);
  const newestSnapshot = snapshots.at(-1) ?? 0;
  const losses: Loss[] = [];
  if (newestSnapshot > 0) losses.push(...readSnapshot(folder.snapshot(newestSnapshot), replay));
  const first = newestSnapshot || 1;
  const isEmpty = newestSnapshot === 0 && journals.length === 0;
  const last = isEmpty ? 0 : lastBegun(folder, first, journals);
  for (let number = first; number <= last; number++) {
    losses.push(...readJournal(folder.journal(number), replay, number === last));
  }
  const highest = Math.max(first, ...journals, ...snapshots);
  return { losses, keys: replay.table.size, rewrite: () => rewrite(folder, replay, highest + 1) };
}

function readSnapshot(path: string, replay: Replay): Loss[] {
  const content = readFileSync(path);
  const losses = readAll(path, content, replay).map((gap) => {
    return { ...gap, what: `the counts of at most ${Math.ceil(gap.bytes / COUNTS_BYTES)} keys` };
  });
  const at = content.length;
  if (!replay.complete && losses.at(-1)?.at !== at) {
    losses.push({
      file: path,
      at,
      bytes: 0,
      what: "the end of the file, with the counts of an unknown number of keys",
    });
  }
  return losses;
}

function readJournal(path: string, replay: Replay, isLast: boolean): Loss[] {
  if (!existsSync(path))
    return [{ file: path, at: 0, bytes: 0, what: "the whole file, with an unknown number of runs" }];
  replay.beginJournal();
  const before = replay.unnamedRuns;
  const content = readFileSync(path);
  const torn = isLast ? tornAt(path) : undefined;
  const losses = readAll(path, content, replay)
    .filter(({ at }) => at !== torn)
    .map((gap) => ({ ...gap, what: `at most ${Math.ceil(gap.bytes / ADMISSION_BYTES)} runs` }));
  const unnamedRuns = replay.unnamedRuns - before;
  if (unnamedRuns > 0) {
    const what = `${unnamedRuns} counts of runs, because the name of their container or token is lost`;
    losses.push({ file: path, at: 0, bytes: 0, what });
  }
  return losses;
}

/** Returns where the record that a crash tore begins. The service never acknowledged that record. */
function tornAt(path: string): number | undefined {
  const file = openSync(path, "r");
  try {
    const { bytes, end } = readFrames(file, () => {});
    return end === "torn" ? bytes : undefined;
  } finally {
    closeSync(file);
  }
}

function readAll(path: string, content: Buffer, replay: Replay): Omit<Loss, "what">[] {
  const unreadable: Omit<Loss, "what">[] = [];
  const gaps = salvageFrames(content, (payload, at) => {
    try {
      readRecords(payload, replay);
    } catch (error) {
      if (error instanceof VersionError) throw new Error(`${resolve(path)}: ${error.message}`, { cause: error });
      unreadable.push({ file: path, at, bytes: payload.length });
    }
  });
  return [...gaps.map((gap) => ({ file: path, ...gap })), ...unreadable];
}

/**
 * Creates a snapshot and a journal with a new number, which replace all others. The folder is unchanged until the snapshot
 * has its name.
 */
async function rewrite(folder: Folder, { table, newest, newestAnchor }: Replay, number: number): Promise<string> {
  const backup = backUp(folder);
  JournalFile.create(folder.journal(number), number, newest).close();
  await new Snapshot(number, newest, newestAnchor).write(table, folder);
  const { journal } = await recover(folder);
  journal.close();
  return backup;
}

/** Copies all files to a folder next to this one. Hard links are enough, because the service never writes to them again. */
function backUp(folder: Folder): string {
  const stamp = new Date().toISOString().replaceAll(":", "-");
  const backup = join(dirname(resolve(folder.path)), `limits-damaged-${stamp}`);
  mkdirSync(backup, { mode: 0o700 });
  for (const file of folder.files()) {
    const to = join(backup, basename(file));
    try {
      linkSync(file, to);
    } catch {
      copyFileSync(file, to);
    }
  }
  new Folder(backup).syncNow();
  return backup;
}
