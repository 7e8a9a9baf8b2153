import { rmSync } from "node:fs";
import { rm } from "node:fs/promises";

import type { Folder } from "./folder.ts";
import { JournalFile } from "./journal-file.ts";
import type { Journal } from "./journal.ts";
import { Snapshot } from "./snapshot.ts";
import type { KeyTable } from "./table.ts";

export interface CompactorOptions {
  folder: Folder;
  table: KeyTable;
  journal: Journal;
  fsync: boolean;
  /** Journals shorter than this are left alone. */
  minimumBytes: number;
  snapshotBytes: number;
  /** Of all journals that the newest snapshot does not hold. */
  journalBytes: number;
  onError: (error: unknown) => void;
}

/**
 * Keeps the journals short: when they are much longer than what they say, begins a new one and writes a snapshot beside
 * it. What fails here costs only room on the disk: the journals until now stay, and it is tried again later.
 */
export class Compactor {
  readonly #options: CompactorOptions;
  /** Of the journals before the current one. */
  #olderBytes: number;
  #dueBytes: number;
  #snapshot: Snapshot | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#olderBytes = options.journalBytes - options.journal.bytes;
    this.#dueBytes = this.#worthwhile(options.snapshotBytes);
  }

  /** The snapshot that is being written, which must keep every key before it changes. */
  get snapshot(): Snapshot | undefined {
    return this.#snapshot;
  }

  get due(): boolean {
    return !this.#snapshot && this.#totalBytes() >= this.#dueBytes;
  }

  /** Begins. The table must hold what is written and nothing else: no admission may be waiting for the journal. */
  start(now: number): void {
    const { folder, table, journal, onError } = this.#options;
    const number = journal.number + 1;
    const bytes = this.#totalBytes();
    let older: JournalFile;
    try {
      older = journal.continueIn(this.#begin(number, now));
    } catch (error) {
      this.#postpone();
      onError(error);
      return;
    }
    this.#olderBytes = bytes;
    const snapshot = new Snapshot(number, now, journal.anchor);
    this.#snapshot = snapshot;
    this.#running = this.#run(snapshot, table, folder, older).catch((error: unknown) => {
      this.#postpone();
      onError(error);
    });
  }

  /** Resolves when nothing runs any more. */
  async stop(): Promise<void> {
    this.#snapshot?.cancel();
    await this.#running;
  }

  #begin(number: number, now: number): JournalFile {
    const { folder, fsync } = this.#options;
    // What an attempt left that failed; nothing was written to it.
    rmSync(folder.journal(number), { force: true });
    const journal = JournalFile.create(folder.journal(number), number, now);
    try {
      // What is synced in a file is lost with its name.
      if (fsync) folder.syncNow();
      return journal;
    } catch (error) {
      journal.close();
      throw error;
    }
  }

  async #run(snapshot: Snapshot, table: KeyTable, folder: Folder, older: JournalFile): Promise<void> {
    try {
      // Before there is much in the new one: a loss of power may tear the end of the last journal only.
      await older.sync().finally(() => older.close());
      const bytes = await snapshot.write(table, folder);
      if (bytes === undefined) return;
      this.#olderBytes = 0;
      this.#dueBytes = this.#worthwhile(bytes);
      await folder.tidy(snapshot.number);
    } finally {
      this.#snapshot = undefined;
      await rm(folder.unfinished(snapshot.number), { force: true });
    }
  }

  #totalBytes(): number {
    return this.#olderBytes + this.#options.journal.bytes;
  }

  #worthwhile(snapshotBytes: number): number {
    return Math.max(this.#options.minimumBytes, 2 * snapshotBytes);
  }

  #postpone(): void {
    this.#dueBytes = this.#totalBytes() + this.#options.minimumBytes;
  }
}
