import { closeSync, existsSync, fstatSync, openSync } from "node:fs";
import { basename } from "node:path";

import { Folder } from "./folder.ts";
import { lastBegun } from "./recovery.ts";

/** A file with counts, open for a copy. Its bytes stay, even if the store deletes the file or cuts off a failed write. */
export interface OpenCounts {
  readonly name: string;
  readonly descriptor: number;
  /** How many bytes are counts of this instant. The file may grow. */
  readonly bytes: number;
}

/** The journal that a store writes. */
export interface WrittenJournal {
  readonly number: number;
  /** The bytes whose changes are made. */
  readonly committedBytes: number;
}

/**
 * Opens the files that together are the counts of this instant: the newest snapshot, and the journals from its number on. The
 * caller closes them.
 *
 * @param path the folder of the store
 * @param journal the journal of the running store; null if no service uses the folder
 * @throws the system's error; then all are closed.
 */
export function openCounts(path: string, journal: WrittenJournal | null): OpenCounts[] {
  const folder = new Folder(path);
  const { journals, snapshots } = folder.list();
  const first = snapshots.at(-1) ?? 1;
  const last = journal?.number ?? lastBegun(folder, first, journals);
  const files = journals.filter((number) => number >= first && number <= last).map((number) => folder.journal(number));
  if (existsSync(folder.snapshot(first))) files.unshift(folder.snapshot(first));
  const opened: OpenCounts[] = [];
  try {
    for (const file of files) {
      const descriptor = openSync(file, "r");
      const isLast = journal !== null && file === folder.journal(journal.number);
      const bytes = isLast ? journal.committedBytes : fstatSync(descriptor).size;
      opened.push({ name: basename(file), descriptor, bytes });
    }
    return opened;
  } catch (error) {
    for (const { descriptor } of opened) closeSync(descriptor);
    throw error;
  }
}
