import type { CellLog } from "../../cell-log.ts";
import type { Anchor } from "../../steady-clock.ts";
import { RecordWriter } from "./count-records.ts";
import type { JournalFile } from "./journal-file.ts";

/** Records changes, one batch at a time. Each journal file contains the name of a key once; later records use its number. */
export class Journal {
  #file: JournalFile;
  #ids: number;
  readonly #batch = new RecordWriter();
  /** The length of the committed part of the file. `rollBack` returns to it. */
  #committedBytes: number;
  /** Keys that got their number in uncommitted frames, and in the batch. */
  #newInFile: CellLog[] = [];
  #newInBatch: CellLog[] = [];
  /** The ids of one admission. */
  readonly #admitted: number[] = [];

  readonly anchor: Anchor | undefined;
  /** Whether the file or the batch contains the anchor, and whether that is committed. */
  #anchored = false;
  #committedAnchor = false;

  /**
   * @param ids how many numbers the file has assigned
   * @param anchor the anchor of this process, which each file contains
   */
  constructor(file: JournalFile, ids: number, anchor: Anchor | undefined) {
    this.anchor = anchor;
    this.#file = file;
    this.#ids = ids;
    this.#committedBytes = file.bytes;
  }

  get number(): number {
    return this.#file.number;
  }

  get bytes(): number {
    return this.#file.bytes;
  }

  /** The bytes whose changes are made. A failed write removes only what follows them. */
  get committedBytes(): number {
    return this.#committedBytes;
  }

  /** @param charges have the keys of the logs */
  admission(time: number, charges: readonly { readonly key: string }[], logs: readonly CellLog[]): void {
    this.#anchorOnce();
    const ids = this.#admitted;
    ids.length = 0;
    for (let at = 0; at < logs.length; at++) ids.push(this.#id(charges[at]!.key, logs[at]!));
    this.#batch.admission(time, ids);
  }

  reset(time: number, key: string, log: CellLog): void {
    this.#anchorOnce();
    this.#batch.reset(time, this.#id(key, log));
  }

  /** Writes the batch as one frame. @throws the system's error; the caller must then call `rollBack`. */
  write(): void {
    this.#file.append(this.#batch.take());
    if (this.#newInBatch.length === 0) return;
    this.#newInFile.push(...this.#newInBatch);
    this.#newInBatch = [];
  }

  /** Makes everything written permanent. */
  commit(): void {
    this.#committedBytes = this.#file.bytes;
    this.#committedAnchor = this.#anchored;
    if (this.#newInFile.length > 0) this.#newInFile = [];
  }

  /** Discards the batch and removes everything written since the last commit. */
  rollBack(): void {
    for (const log of [...this.#newInFile, ...this.#newInBatch]) log.journal = 0;
    this.#ids -= this.#newInFile.length + this.#newInBatch.length;
    this.#newInFile = [];
    this.#newInBatch = [];
    this.#anchored = this.#committedAnchor;
    this.#batch.clear();
    this.#file.cut(this.#committedBytes);
  }

  /** Continues in another file; no change may be pending. Returns the previous file, which the caller closes. */
  continueIn(next: JournalFile): JournalFile {
    const previous = this.#file;
    this.#file = next;
    this.#ids = 0;
    this.#anchored = false;
    this.#committedAnchor = false;
    this.#committedBytes = next.bytes;
    return previous;
  }

  sync(): Promise<void> {
    return this.#file.sync();
  }

  syncNow(): void {
    this.#file.syncNow();
  }

  close(): void {
    this.#file.close();
  }

  #anchorOnce(): void {
    if (this.#anchored) return;
    this.#anchored = true;
    if (this.anchor) this.#batch.anchor(this.anchor);
  }

  #id(key: string, log: CellLog): number {
    if (log.journal !== this.#file.number) {
      log.journal = this.#file.number;
      log.id = this.#ids++;
      this.#batch.key(key, log.id);
      this.#newInBatch.push(log);
    }
    return log.id;
  }
}
