import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/**
 * The files of the store. `snapshot-N` contains the counts at the start of `journal-N`. So the newest snapshot and the
 * journals from its number on are the whole state. A snapshot gets its name when all of it is on the disk.
 */
export class Folder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }

  journal(number: number): string {
    return join(this.path, `journal-${number}`);
  }

  snapshot(number: number): string {
    return join(this.path, `snapshot-${number}`);
  }

  unfinished(number: number): string {
    return `${this.snapshot(number)}.unfinished`;
  }

  /** The numbers of the files, in order. */
  list(): { journals: number[]; snapshots: number[] } {
    const files = readdirSync(this.path);
    return { journals: numbers(files, /^journal-(\d+)$/), snapshots: numbers(files, /^snapshot-(\d+)$/) };
  }

  /** Returns the paths of all files with counts. */
  files(): string[] {
    const { journals, snapshots } = this.list();
    return [...snapshots.map((number) => this.snapshot(number)), ...journals.map((number) => this.journal(number))];
  }

  /** Removes the files that the snapshot with this number replaces, and unfinished snapshots. */
  async tidy(newestSnapshot: number): Promise<void> {
    for (const file of await readdir(this.path)) {
      const number = Number(/^(?:journal|snapshot)-(\d+)$/.exec(file)?.[1] ?? Infinity);
      if (number < newestSnapshot || file.endsWith(".unfinished")) await rm(join(this.path, file));
    }
  }

  /** Makes the file names in the folder survive a loss of power. */
  async sync(): Promise<void> {
    const folder = await open(this.path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  /** Does the same as `sync`, and blocks the event loop. */
  syncNow(): void {
    const folder = openSync(this.path, "r");
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  }
}

function numbers(files: readonly string[], pattern: RegExp): number[] {
  return files
    .map((file) => Number(pattern.exec(file)?.[1] ?? Number.NaN))
    .filter((number) => !Number.isNaN(number))
    .toSorted((one, other) => one - other);
}
