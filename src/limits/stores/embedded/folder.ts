import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/**
 * The files of the store. `snapshot-N` holds the counts as they were when `journal-N` began, so the newest snapshot and
 * the journals from its number on are the whole state; a snapshot gets its name when it is whole and on the disk.
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

  /** The paths of all files that hold counts. */
  files(): string[] {
    const { journals, snapshots } = this.list();
    return [...snapshots.map((number) => this.snapshot(number)), ...journals.map((number) => this.journal(number))];
  }

  /** Removes what the snapshot of this number has made superfluous, and snapshots that were never finished. */
  async tidy(newestSnapshot: number): Promise<void> {
    for (const file of await readdir(this.path)) {
      const number = Number(/^(?:journal|snapshot)-(\d+)$/.exec(file)?.[1] ?? Infinity);
      if (number < newestSnapshot || file.endsWith(".unfinished")) await rm(join(this.path, file));
    }
  }

  /** Makes the names in the folder survive a loss of power. */
  async sync(): Promise<void> {
    const folder = await open(this.path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  /** As `sync`, with the event loop waiting. */
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
