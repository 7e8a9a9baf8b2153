import { open, rename, type FileHandle } from "node:fs/promises";

import type { CellLog } from "../../cell-log.ts";
import type { Anchor } from "../../steady-clock.ts";
import { RecordWriter } from "./count-records.ts";
import type { Folder } from "./folder.ts";
import type { KeyTable } from "./key-table.ts";

/** A slice ends after this many bytes or keys. That takes about a millisecond, in which nothing else runs. */
const SLICE_BYTES = 65_536;
const SLICE_KEYS = 1_000;

/**
 * The counts at one instant, written while they continue to change. The store calls `capture` before it changes a key. Later
 * changes are in the journal that began at that instant, and are not counted twice.
 */
export class Snapshot {
  readonly number: number;
  readonly #time: number;
  readonly #records = new RecordWriter();
  #keys = 0;
  #bytes = 0;
  #cancelled = false;

  /**
   * @param time now, in milliseconds since 1970
   * @param anchor the newest anchor
   */
  constructor(number: number, time: number, anchor: Anchor | undefined) {
    this.number = number;
    this.#time = time;
    this.#records.start(time);
    if (anchor) this.#records.anchor(anchor);
  }

  /** Records a key in its current state, unless the snapshot has recorded it already. */
  capture(key: string, log: CellLog): void {
    if (log.snapshot === this.number) return;
    log.snapshot = this.number;
    const entries = [...log.entries(this.#time)];
    if (entries.length === 0) return;
    this.#keys++;
    this.#records.counts(key, entries);
  }

  /** Makes `write` stop at the next slice. */
  cancel(): void {
    this.#cancelled = true;
  }

  /**
   * Writes all keys, and renames the file after it is on the disk: a crash leaves a whole snapshot or none.
   *
   * @returns the size of the file in bytes, or `undefined` when it was cancelled
   * @throws the system's error.
   */
  async write(table: KeyTable, folder: Folder): Promise<number | undefined> {
    const path = folder.unfinished(this.number);
    const file = await open(path, "w", 0o600);
    try {
      if (!(await this.#writeKeys(table, file))) return undefined;
      this.#records.end(this.#keys);
      await this.#flush(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(path, folder.snapshot(this.number));
    await folder.sync();
    return this.#bytes;
  }

  async #writeKeys(table: KeyTable, file: FileHandle): Promise<boolean> {
    let keys = 0;
    for (const [key, log] of table.entries()) {
      this.capture(key, log);
      if (this.#records.bytes < SLICE_BYTES && ++keys % SLICE_KEYS > 0) continue;
      await this.#flush(file);
      if (this.#cancelled) return false;
    }
    return true;
  }

  async #flush(file: FileHandle): Promise<void> {
    // Copied, because `capture` fills the buffer again during the write.
    const frame = Buffer.from(this.#records.take());
    this.#bytes += frame.length;
    await file.appendFile(frame);
  }
}
