import type { RecordConfig } from "../../config/groups/records.ts";
import type { RunQuery } from "../query.ts";
import type { RecordThreads } from "../record-threads.ts";
import type { KeptRun, RunRecord } from "../record.ts";
import type { FailurePage, RecordLosses, RecordStore, StoredPage } from "../store.ts";
import { type Day, dayOf } from "./day.ts";
import { NoStore } from "./no-store.ts";
import { publicPartOf } from "./public-shares.ts";
import { RecordReader } from "./record-reader.ts";
import { RecordWriter } from "./record-writer.ts";
import { Shares } from "./shares.ts";
import { leastBytesOf, ROW_SIZE, rowOf } from "./stored-row.ts";
import type { BatchOutcome, OmissionBounds } from "./thread-messages.ts";

/**
 * The most bytes of a record in addition to its console and its input. Its other texts have 64 Ki characters each, so only a
 * record with a fault is larger. It would block the service for milliseconds while its JSON is made.
 */
const MOST_OTHER_BYTES = 384 * 2 ** 10;

export interface RecordStoreOptions extends Pick<
  RecordConfig,
  | ("keepRuns" | "runsSize" | "runsRate" | "familyRuns" | "familyReads" | "waitingReads" | "diskQueue")
  | ("consoleLimit" | "inputLimit" | "countedFamilies" | "familyContainers")
> {
  /** Returns Unix milliseconds: the minutes of the shares. */
  readonly now?: () => number;
}

/**
 * Opens the records of runs on disk: one database for each day in a folder, which is created. An error of the disk is
 * reported in `losses` and never thrown.
 *
 * @param threads must be closed after this.
 */
export function openRecordStore(folder: string, threads: RecordThreads, options: RecordStoreOptions): RecordStore {
  return options.keepRuns === 0 ? new NoStore(folder) : new DayStore(folder, threads, options);
}

class DayStore implements RecordStore {
  readonly #writer: RecordWriter;
  readonly #reader: RecordReader;
  readonly #shares: Shares;
  readonly #now: () => number;
  readonly #mostRecordBytes: number;
  readonly #mostFull: number;
  /** The families that have used their quota of a day, and the public parts of families that are used up. */
  readonly #full = new Map<Day, Set<string>>();
  #dropped = 0;
  #omitted = 0;

  constructor(folder: string, threads: RecordThreads, { now = Date.now, ...options }: RecordStoreOptions) {
    const { keepRuns, runsSize, runsRate, familyRuns, countedFamilies } = options;
    const omissions = omissionBounds(options);
    const settings = { folder, keepRuns, runsSize, familyRuns, omissions };
    this.#writer = new RecordWriter(threads, settings, options.diskQueue, (day, outcome) =>
      this.#onWritten(day, outcome),
    );
    this.#reader = new RecordReader(threads, folder, options);
    this.#shares = new Shares(runsRate, familyRuns, countedFamilies);
    this.#mostRecordBytes = options.consoleLimit + options.inputLimit + MOST_OTHER_BYTES;
    // The writer still checks further ones.
    this.#mostFull = countedFamilies;
    this.#now = now;
  }

  add(kept: KeptRun): void {
    try {
      this.#add(kept);
    } catch {
      // A record that has no JSON. The run has its answer already.
      this.#dropped += 1;
    }
  }

  list(query: RunQuery, reader: string): Promise<StoredPage> {
    return this.#reader.read(reader, { kind: "list", query, reader });
  }

  get(container: string, run: string, reader: string): Promise<{ record: RunRecord; lineage: string[] } | null> {
    return this.#reader.read(reader, { kind: "get", container, run });
  }

  failures(query: RunQuery, reader: string): Promise<FailurePage> {
    return this.#reader.read(reader, { kind: "failures", query });
  }

  get losses(): RecordLosses {
    const { dropped, omitted, kept, failure } = this.#writer;
    // The names of deleted files are not reported for ever.
    const found = [...this.#reader.unreadable].filter((name) => name >= kept.oldest);
    return {
      dropped: this.#dropped + dropped,
      omitted: this.#omitted + omitted,
      unreadable: [...kept.setAside, ...found].toSorted(),
      failure,
    };
  }

  async close(): Promise<void> {
    this.#reader.close();
    await this.#writer.close();
  }

  #add(kept: KeptRun): void {
    const { family, network, startedMs, record } = kept;
    const { container } = record;
    const day = dayOf(startedMs);
    const nowMs = this.#now();
    const leastBytes = leastBytesOf(record);
    if (Number.isNaN(day) || !this.#writer.hasRoom(family, leastBytes)) {
      this.#dropped += 1;
    } else if (
      leastBytes > this.#mostRecordBytes ||
      this.#isFull(day, family, network) ||
      !this.#shares.fits(family, container, leastBytes, nowMs, network)
    ) {
      this.#omit(day, family, container);
    } else {
      const row = rowOf(kept);
      if (this.#shares.take(family, container, row[ROW_SIZE], nowMs, network)) this.#writer.add(day, row);
      else this.#omit(day, family, container);
    }
  }

  /** Whether the quota of the day is used up. */
  #isFull(day: Day, family: string, network: string | null): boolean {
    const full = this.#full.get(day);
    if (!full) return false;
    return full.has(family) || (network !== null && full.has(publicPartOf(family)));
  }

  #omit(day: Day, family: string, container: string): void {
    this.#omitted += 1;
    this.#writer.omit(day, family, container);
  }

  #onWritten(day: Day, { full, isNew }: BatchOutcome): void {
    if (isNew) this.#full.delete(day);
    if (full.length === 0) return;
    let families = this.#full.get(day);
    if (!families) {
      // Runs end at most a day after their start, so older days get no more records.
      for (const older of this.#full.keys()) if (older < day - 1) this.#full.delete(older);
      this.#full.set(day, (families = new Set()));
    }
    for (const family of full) if (families.size < this.#mostFull) families.add(family);
  }
}

/** Returns how many containers the file of a day names in its counts of omitted runs. */
export function omissionBounds({
  countedFamilies,
  familyContainers,
}: Pick<RecordConfig, "countedFamilies" | "familyContainers">): OmissionBounds {
  return { ofAll: 2 * countedFamilies, ofFamily: Math.ceil(familyContainers / 10) };
}
