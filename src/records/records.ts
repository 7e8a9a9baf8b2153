import { Problem } from "../errors.ts";
import { eachRun, newestOf } from "./collect.ts";
import { leastBytesOf } from "./days/stored-row.ts";
import type { Drain } from "./drain/drain.ts";
import type { EndedRun } from "./ended-run.ts";
import { FailureGroups } from "./failure-groups.ts";
import { selectsContainer, selectsRun } from "./match.ts";
import { byNewest, type Cursor, type RunQuery } from "./query.ts";
import { type RecentBounds, RecentRuns } from "./recent.ts";
import { type ConsoleLine, entryOf, type RunEntry, type RunRecord } from "./record.ts";
import type { FailurePage, RecordStore, StoredPage } from "./store.ts";
import { Tail, type TailBounds } from "./tail.ts";

export interface RecordsOptions {
  /** The records on disk; null if none are kept. */
  readonly store: RecordStore | null;
  /** Sends the records to a collector; null if the operator named none. */
  readonly drain?: Pick<Drain, "add"> | null;
  readonly bounds: RecentBounds & TailBounds;
  /** Returns the runs in flight, of one container or of all. Their status is `running`. */
  readonly running: (container: string | null) => readonly EndedRun[];
}

/**
 * The source of an answer: memory and disk; memory only, because the service keeps no records on disk; or memory only,
 * because the disk cannot be read now.
 */
export type History = (typeof HISTORIES)[number];
/** From the most history to the least that an operator expects. */
export const HISTORIES = ["kept", "off", "unavailable"] as const;

/** An entry of a page. Its text is made at the last moment, because a page may be cut. */
export interface ListedRun extends Cursor {
  readonly entry: () => RunEntry;
}

export interface RunPage {
  /** The newest first. A page may be empty although `next` is set. */
  readonly runs: readonly ListedRun[];
  readonly next: Cursor | null;
  /** The runs that are in no answer, because their family or container had used its share of the disk. */
  readonly omitted: number;
  readonly history: History;
}

/** A run, and the `jti`s of its token and of the tokens above it. */
export interface FoundRun {
  readonly record: RunRecord;
  readonly lineage: readonly string[];
}

/** `complete` is about the failures that the service keeps. */
export interface Failures extends FailurePage {
  readonly history: History;
}

/** All records of runs: of the runs in flight, of the latest runs in memory, and of the runs on disk. */
export class Records {
  readonly tail: Tail;
  readonly #recent: RecentRuns;
  readonly #store: RecordStore | null;
  readonly #drain: Pick<Drain, "add"> | null;
  readonly #running: RecordsOptions["running"];
  /** The runs that have ended and whose record still lacks a part, by their ids. They are neither in flight nor in memory. */
  readonly #incomplete = new Map<string, { readonly run: EndedRun; readonly added: Promise<void> }>();
  /** The containers with a silent run on its way to the disk that ended in this second. */
  readonly #silent = new Set<string>();
  #silentSecond = 0;

  constructor({ store, drain = null, bounds, running }: RecordsOptions) {
    this.#drain = drain;
    this.tail = new Tail(bounds);
    this.#recent = new RecentRuns(bounds);
    this.#store = store;
    this.#running = running;
  }

  /** Adds a run that has ended. It never throws, and waits for nothing. */
  ended(run: EndedRun): void {
    this.#recent.add(run);
    this.tail.ended(run);
    if ((this.#store === null && this.#drain === null) || (run.isSilent && !this.#isFirstSilent(run))) return;
    const kept = run.kept();
    this.#store?.add(kept);
    this.#drain?.add({
      family: kept.family,
      network: kept.network,
      container: run.container,
      leastBytes: leastBytesOf(kept.record),
      text: () => JSON.stringify(kept.record),
    });
  }

  /** Adds a run that has ended when its record is complete. Until then it is in lists, and a reader of the run waits. */
  endedWhen(complete: Promise<void>, run: EndedRun): void {
    const add = async (): Promise<void> => {
      await complete;
      this.#incomplete.delete(run.run);
      this.ended(run);
    };
    this.#incomplete.set(run.run, { run, added: add() });
  }

  /** Shows a line of a run in flight to the readers of its container. */
  printed(container: string, run: string, line: ConsoleLine): void {
    this.tail.printed(container, run, line);
  }

  /** Adds a hint to the record of a run that has ended. Only the memory has it: a record on disk does not change. */
  hintLate(container: string, run: string, hint: string): void {
    this.#recent.hintLate(container, run, hint);
  }

  /** @param reader the family of the reader */
  async list(query: RunQuery, reader: string): Promise<RunPage> {
    const most = query.count + 1;
    // In the order in which a run passes from one to the next, so that no run is missed on its way.
    const running = this.#runningOf(query).filter((run) => selectsRun(query, run));
    const recent = await newestOf(this.#recent, query, most, reader);
    const stored = await this.#read((store) => store.list(query, reader));
    const { runs, next, omitted } = stored.answer ?? EMPTY_PAGE;
    const found = new Map<string, ListedRun>();
    for (const { entry, startedMs } of runs) found.set(entry.run, { run: entry.run, startedMs, entry: () => entry });
    // The record of a run in memory is at least as new as that on disk.
    for (const ended of [...running, ...recent]) found.set(ended.run, listed(ended));
    const inOrder = [...found.values()].toSorted(byNewest);
    // Beyond the end of the page on disk may be runs on disk that are newer than those in memory.
    const reached = next === null ? inOrder : inOrder.filter((run) => byNewest(run, next) <= 0);
    const page = reached.slice(0, query.count);
    const last = page.length < reached.length ? cursorOf(page.at(-1)!) : next;
    return { runs: page, next: last, omitted, history: stored.history };
  }

  /**
   * Returns a run, or null if it is unknown.
   *
   * @param reader the family of the reader
   */
  async get(container: string, run: string, reader: string): Promise<FoundRun | null> {
    const incomplete = this.#incomplete.get(run);
    if (incomplete?.run.container === container) await incomplete.added;
    const flying = this.#running(container).find((each) => each.run === run);
    const recent = this.#recent.find(container, run);
    if (recent?.isWhole) return recent.kept();
    if (flying && !recent) return flying.kept();
    const { answer } = await this.#read((store) => store.get(container, run, reader));
    return answer ?? recent?.kept() ?? null;
  }

  /** @param reader the family of the reader */
  async failures(query: RunQuery, reader: string): Promise<Failures> {
    const { answer, history } = await this.#read((store) => store.failures(query, reader));
    const failures = new FailureGroups(answer?.groups ?? []);
    const next = answer?.next ?? null;
    await eachRun(this.#recent, query, reader, (run) => {
      // The next page counts the runs beyond the end of this one.
      if (next === null || byNewest(run, next) <= 0) failures.add(run, query);
    });
    const complete = (answer?.complete ?? false) && failures.isComplete;
    return { groups: failures.list(), complete, next, history };
  }

  #runningOf(query: RunQuery): EndedRun[] {
    const incomplete = [...this.#incomplete.values()].map(({ run }) => run);
    return [...this.#running(query.container), ...incomplete].filter(({ container }) =>
      selectsContainer(query, container),
    );
  }

  /** Reads the disk. A disk that cannot be read costs history, and the memory answers alone. */
  async #read<T>(read: (store: RecordStore) => Promise<T>): Promise<{ answer: T | null; history: History }> {
    if (this.#store === null) return { answer: null, history: "off" };
    try {
      return { answer: await read(this.#store), history: "kept" };
    } catch (error) {
      // Too many reads, of the family or of all, are not a fault of the disk.
      if (error instanceof Problem && (error.fault === "limit" || error.code === "overloaded")) throw error;
      return { answer: null, history: "unavailable" };
    }
  }

  /** Whether a silent run is the first of its container in this second. The others are only in memory. */
  #isFirstSilent({ container }: EndedRun): boolean {
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#silentSecond) {
      this.#silentSecond = second;
      this.#silent.clear();
    }
    if (this.#silent.has(container)) return false;
    this.#silent.add(container);
    return true;
  }
}

const EMPTY_PAGE: StoredPage = { runs: [], next: null, omitted: 0 };

function cursorOf({ startedMs, run }: ListedRun): Cursor {
  return { startedMs, run };
}

function listed(run: EndedRun): ListedRun {
  return { run: run.run, startedMs: run.startedMs, entry: () => entryOf(run.kept().record) };
}
