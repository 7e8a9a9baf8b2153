import { isDamage, isForeign, StoreFault } from "../sqlite-fault.ts";
import { DayFile } from "./day-file.ts";
import { DayFolder } from "./day-folder.ts";
import { type Day, dayOf, nameOf } from "./day.ts";
import { isExpired, retain, type Retained } from "./retention.ts";
import type { Batch, BatchOutcome, Check, WriterSettings } from "./thread-messages.ts";

/** The most databases that are open: that of today, and that of yesterday for runs that began before midnight. */
const MOST_OPEN = 2;
/** The time that a batch takes at most, apart from its last row. Counts and the audit wait for the same thread. */
const BATCH_MS = 100;

const UNREACHABLE =
  "a folder above the data folder is closed to the user of the service; choose another one with --data";

interface OpenDay {
  readonly file: DayFile;
  readonly identity: string | null;
}

/** Writes the records of each day into the database of that day, and deletes old days. Used by the writer thread. */
export class DayWriter {
  readonly #settings: WriterSettings;
  readonly #folder: DayFolder;
  /** The open databases. The one that was used last is last. */
  readonly #open = new Map<Day, OpenDay>();
  /** The bytes of all files, at the latest check. */
  #bytes = 0;

  constructor(settings: WriterSettings) {
    this.#settings = settings;
    this.#folder = new DayFolder(settings.folder);
  }

  /** @throws {Error} if the batch cannot be written. Nothing of it is written then. */
  write(batch: Batch, nowMs: number): BatchOutcome {
    const { day, rows } = batch;
    const isNew = this.#folder.identityOf(day) === null;
    if (isNew && isExpired(day, this.#settings.keepRuns, nowMs)) {
      return { rows: rows.length, omitted: rows.length, dropped: 0, full: [], isNew: false };
    }
    try {
      return { ...this.#write(batch, nowMs), isNew };
    } catch (error) {
      this.#release(day);
      if (!this.#folder.isReachable) throw new StoreFault(UNREACHABLE, { cause: error });
      if (isNew || !(isDamage(error) || isForeign(error) || this.#folder.isNoFile(day))) throw error;
      this.#folder.setAside(day);
      return { ...this.#write(batch, nowMs), isNew: true };
    }
  }

  /** Does one step of the deletion of old days. */
  check(nowMs: number): Check {
    for (const day of this.#open.keys()) if (day !== dayOf(nowMs)) this.#release(day);
    const { files, more } = this.#retain(nowMs);
    const setAside = files.filter(({ isSetAside }) => isSetAside).map(({ database }) => database);
    return { kept: { oldest: files.length > 0 ? nameOf(files[0]!.day) : "", setAside }, more };
  }

  close(): void {
    for (const day of this.#open.keys()) this.#release(day);
  }

  #write(batch: Batch, nowMs: number): Omit<BatchOutcome, "isNew"> {
    const { day } = batch;
    const { runsSize, familyRuns, omissions } = this.#settings;
    const file = this.#openDay(day);
    const before = this.#folder.bytesOf(day);
    const endMs = performance.now() + BATCH_MS;
    const outcome = file.write(batch, { familyBytes: familyRuns, fileBytes: runsSize - before, endMs, omissions });
    this.#bytes += this.#folder.bytesOf(day) - before;
    if (this.#bytes > runsSize) this.#retain(nowMs);
    return outcome;
  }

  #retain(nowMs: number): Retained {
    const retained = retain(this.#folder, this.#settings, nowMs, (day) => this.#release(day));
    this.#bytes = retained.files.reduce((sum, { bytes }) => sum + bytes, 0);
    return retained;
  }

  #openDay(day: Day): DayFile {
    const open = this.#open.get(day);
    this.#open.delete(day);
    if (open && open.identity === this.#folder.identityOf(day)) {
      this.#open.set(day, open);
      return open.file;
    }
    // An operator may delete or replace a file. A write to the open file would then be lost.
    open?.file.close();
    for (const [oldest] of this.#open) if (this.#open.size >= MOST_OPEN) this.#release(oldest);
    this.#folder.create();
    // They belong to the file that is gone.
    if (open || this.#folder.identityOf(day) === null) this.#folder.removeCompanions(day);
    const file = DayFile.open(this.#folder.pathOf(day));
    this.#open.set(day, { file, identity: this.#folder.identityOf(day) });
    return file;
  }

  #release(day: Day): void {
    const open = this.#open.get(day);
    this.#open.delete(day);
    open?.file.close();
  }
}
