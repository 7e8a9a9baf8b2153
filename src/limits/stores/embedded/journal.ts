import type { CellLog } from "../../cell-log.ts";
import type { Anchor } from "../../clock.ts";
import type { JournalFile } from "./journal-file.ts";
import { RecordWriter } from "./records.ts";

/** Writes down what happens, a batch at a time. A key is named once in each journal, and has a number after that. */
export class Journal {
  #file: JournalFile;
  #ids: number;
  readonly #batch = new RecordWriter();
  /** What has been written and committed: `rollBack` goes back to here. */
  #committedBytes: number;
  /** Keys that got their number in what is written but not committed, and in the batch. */
  #newInFile: CellLog[] = [];
  #newInBatch: CellLog[] = [];

  readonly anchor: Anchor | undefined;
  /** Whether the file has the anchor, or the batch, and whether that will stay. */
  #anchored = false;
  #committedAnchor = false;

  /**
   * @param ids how many numbers the file has given out
   * @param anchor of this process, which each file holds
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

  admission(time: number, keys: readonly string[], logs: readonly CellLog[]): void {
    this.#anchorOnce();
    const ids = logs.map((log, at) => this.#id(keys[at]!, log));
    this.#batch.admission(time, ids);
  }

  reset(time: number, key: string, log: CellLog): void {
    this.#anchorOnce();
    this.#batch.reset(time, this.#id(key, log));
  }

  /** Writes the batch as one frame. @throws the system's error; then `rollBack` is due. */
  write(): void {
    this.#file.append(this.#batch.take());
    this.#newInFile.push(...this.#newInBatch);
    this.#newInBatch = [];
  }

  /** What was written will stay. */
  commit(): void {
    this.#committedBytes = this.#file.bytes;
    this.#committedAnchor = this.#anchored;
    this.#newInFile = [];
  }

  /** Forgets the batch, and takes back what was written since the last commit. */
  rollBack(): void {
    for (const log of [...this.#newInFile, ...this.#newInBatch]) log.journal = 0;
    this.#ids -= this.#newInFile.length + this.#newInBatch.length;
    this.#newInFile = [];
    this.#newInBatch = [];
    this.#anchored = this.#committedAnchor;
    this.#batch.clear();
    this.#file.cut(this.#committedBytes);
  }

  /** Goes on in another file; nothing may be waiting. Returns the file until now, which the caller closes. */
  continueIn(next: JournalFile): JournalFile {
    const file = this.#file;
    this.#file = next;
    this.#ids = 0;
    this.#anchored = false;
    this.#committedAnchor = false;
    this.#committedBytes = next.bytes;
    return file;
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
