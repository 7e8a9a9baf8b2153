import { rmSync } from "node:fs";
import { rm } from "node:fs/promises";

import type { Folder } from "./folder.ts";
import { JournalFile } from "./journal-file.ts";
import type { Journal } from "./journal.ts";
import type { KeyTable } from "./key-table.ts";
import { Snapshot } from "./snapshot.ts";

export interface CompactorOptions {
  folder: Folder;
  table: KeyTable;
  journal: Journal;
  fsync: boolean;
  /** Journals shorter than this many bytes are not compacted. */
  minimumBytes: number;
  snapshotBytes: number;
  /** The bytes of all journals newer than the newest snapshot. */
  journalBytes: number;
  onError: (error: unknown) => void;
}

/**
 * Keeps the journals short. When they are much longer than their content, it begins a new journal and writes a snapshot in
 * the background. A failure costs only disk space: the old journals stay, and the compactor tries again later.
 */
export class Compactor {
  readonly #options: CompactorOptions;
  /** The bytes of the journals before the current one. */
  #olderBytes: number;
  #dueBytes: number;
  #snapshot: Snapshot | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#olderBytes = options.journalBytes - options.journal.bytes;
    this.#dueBytes = this.#dueAfter(options.snapshotBytes);
  }

  /** The snapshot that is being written. The store must call its `capture` before it changes a key. */
  get snapshot(): Snapshot | undefined {
    return this.#snapshot;
  }

  get due(): boolean {
    return !this.#snapshot && this.#totalBytes() >= this.#dueBytes;
  }

  /** Begins a compaction. The table must contain only written changes: no admission may be waiting for the journal. */
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

  /** Resolves when no compaction is running. */
  async stop(): Promise<void> {
    this.#snapshot?.cancel();
    await this.#running;
  }

  #begin(number: number, now: number): JournalFile {
    const { folder, fsync } = this.#options;
    // A failed attempt may have left this file. It has no records.
    rmSync(folder.journal(number), { force: true });
    const journal = JournalFile.create(folder.journal(number), number, now);
    try {
      // If the name of a file is lost, its synced content is lost too.
      if (fsync) folder.syncNow();
      return journal;
    } catch (error) {
      journal.close();
      throw error;
    }
  }

  async #run(snapshot: Snapshot, table: KeyTable, folder: Folder, older: JournalFile): Promise<void> {
    try {
      // Before the new journal has much content, because recovery accepts a torn end only in the last journal.
      await older.sync().finally(() => older.close());
      const bytes = await snapshot.write(table, folder);
      if (bytes === undefined) return;
      this.#olderBytes = 0;
      this.#dueBytes = this.#dueAfter(bytes);
      await folder.tidy(snapshot.number);
    } finally {
      this.#snapshot = undefined;
      await rm(folder.unfinished(snapshot.number), { force: true });
    }
  }

  #totalBytes(): number {
    return this.#olderBytes + this.#options.journal.bytes;
  }

  #dueAfter(snapshotBytes: number): number {
    return Math.max(this.#options.minimumBytes, 2 * snapshotBytes);
  }

  #postpone(): void {
    this.#dueBytes = this.#totalBytes() + this.#options.minimumBytes;
  }
}
