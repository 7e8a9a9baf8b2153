import { Problem } from "../../errors.ts";
import { nextTurn } from "../../next-turn.ts";
import type { CellLog } from "../cell-log.ts";
import { decide, usageOf } from "../decide.ts";
import { Page } from "../page.ts";
import { distinctPrefixes, hasPrefix } from "../prefixes.ts";
import { SteadyClock, systemClock, type Clock } from "../steady-clock.ts";
import type { Charge, Decision, KeyReading, LimitStore } from "../store.ts";
import { LONGEST_MS } from "../windows.ts";
import { Compactor } from "./embedded/compactor.ts";
import { Folder } from "./embedded/folder.ts";
import { Journal } from "./embedded/journal.ts";
import type { KeyTable } from "./embedded/key-table.ts";
import { type OpenCounts, openCounts } from "./embedded/open-files.ts";
import { recover, type Recovered } from "./embedded/recovery.ts";
import { RecentFailure } from "./recent-failure.ts";

/** The journal size in bytes from which a snapshot is worthwhile. Shorter journals are replayed in a moment. */
const COMPACT_AT_BYTES = 16 * 2 ** 20;
/**
 * The changes that wait for the end of the turn of the event loop. The guests execute the first runs of many while the
 * service reads the requests of the others: otherwise both would wait for each other. Each write costs two system calls, one for
 * the journal and one for the guest.
 */
const MOST_UNWRITTEN = 16;
/** The number of keys that the service checks in one turn of the event loop, which takes about a millisecond. */
const KEYS_PER_TURN = 10_000;

export interface EmbeddedStoreOptions {
  /** Whether a count must survive a loss of power before its run starts, and not only the end of the process. */
  fsync: boolean;
  clock?: Clock;
  /** Called with errors in the background and errors that make admissions fail. The store continues and tries again. */
  onError?: (error: unknown) => void;
  /** The journal size in bytes at which the store compacts, if the snapshot is small. */
  compactAtBytes?: number;
}

/** A change that is made in memory and not yet in the journal. */
interface PendingChange {
  undo(): void;
  resolve(): void;
  reject(error: Problem): void;
}

/**
 * Counts in memory, with a journal in a folder that only this process uses.
 *
 * The store decides at once. It answers after it has written the journal, once or a few times in each turn of the event
 * loop. So a run starts after its count is on disk, and the end of the process at any instant loses no count. If the journal cannot be
 * written, the store undoes and rejects all pending changes; the next turn tries again.
 */
export class EmbeddedLimitStore implements LimitStore {
  readonly #folder: Folder;
  readonly #table: KeyTable;
  readonly #journal: Journal;
  readonly #compactor: Compactor;
  readonly #clock: SteadyClock;
  readonly #fsync: boolean;
  readonly #onError: (error: unknown) => void;
  /** Changes in memory that are not yet written. */
  #unwritten: PendingChange[] = [];
  /** Changes that are written, but might not survive a loss of power yet. */
  #syncing: PendingChange[] = [];
  #synced: Promise<void> = Promise.resolve();
  readonly #recent = new RecentFailure();
  #closing: Promise<void> | undefined;

  private constructor(folder: Folder, recovered: Recovered, options: EmbeddedStoreOptions) {
    this.#folder = folder;
    this.#table = recovered.table;
    this.#clock = new SteadyClock(options.clock ?? systemClock, recovered.newest, recovered.anchor);
    this.#fsync = options.fsync;
    this.#onError = options.onError ?? (() => {});
    this.#journal = new Journal(recovered.journal, recovered.ids, this.#clock.anchor);
    this.#compactor = new Compactor({
      folder,
      table: recovered.table,
      journal: this.#journal,
      fsync: options.fsync,
      minimumBytes: options.compactAtBytes ?? COMPACT_AT_BYTES,
      snapshotBytes: recovered.snapshotBytes,
      journalBytes: recovered.journalBytes,
      onError: this.#onError,
    });
  }

  /**
   * Opens the store, and creates it if it does not exist.
   *
   * @param path the folder of the store, which no other process may use
   * @throws {Error} naming the file and the remedy, when the counts on disk are damaged.
   */
  static async open(path: string, options: EmbeddedStoreOptions): Promise<EmbeddedLimitStore> {
    const folder = new Folder(path);
    const recovered = await recover(folder);
    if (options.fsync) await folder.sync();
    return new EmbeddedLimitStore(folder, recovered, options);
  }

  get failure(): Error | null {
    return this.#recent.failure;
  }

  /** The number of keys in memory, for the metrics. */
  get size(): number {
    return this.#table.size;
  }

  admit(charges: readonly Charge[]): Promise<Decision> {
    if (this.#closing) return Promise.reject(stopping());
    const table = this.#table;
    const now = this.#clock.now();
    const found: (CellLog | undefined)[] = [];
    for (const { key } of charges) found.push(table.find(key));
    const decision = decide(charges, found, now);
    if (!decision.admitted) return Promise.resolve(decision);
    const before = table.size;
    const logs: CellLog[] = [];
    const { snapshot } = this.#compactor;
    for (let at = 0; at < charges.length; at++) {
      const { key } = charges[at]!;
      const log = found[at] ?? table.create(key);
      snapshot?.capture(key, log);
      logs.push(log);
    }
    this.#journal.admission(now, charges, logs);
    for (const log of logs) log.charge(now);
    table.dropIdle(now, table.size - before);
    return new Promise((resolve, reject) =>
      this.#wait(new PendingAdmission(table, charges, logs, decision, resolve, reject)),
    );
  }

  read(charges: readonly Charge[]): Promise<KeyReading[]> {
    const now = this.#clock.now();
    return Promise.resolve(charges.map((charge) => usageOf(charge, this.#table.find(charge.key), now)));
  }

  reset(key: string): Promise<void> {
    if (this.#closing) return Promise.reject(stopping());
    const log = this.#table.find(key);
    if (!log) return Promise.resolve();
    this.#compactor.snapshot?.capture(key, log);
    this.#journal.reset(this.#clock.now(), key, log);
    this.#table.drop(key);
    return new Promise((resolve, reject) => {
      this.#wait({ undo: () => this.#table.put(key, log), resolve, reject });
    });
  }

  /** Checks every key, in slices between which other work runs. */
  async keys(prefixes: readonly string[], after: string, count: number, holder?: string): Promise<string[]> {
    const page = new Page(after, count);
    const distinct = distinctPrefixes(prefixes);
    const countedSince = this.#clock.now() - LONGEST_MS;
    let checked = 0;
    for (const [key, log] of this.#table.entries()) {
      if (checked++ % KEYS_PER_TURN === 0) await nextTurn(holder);
      if (log.newest > countedSince && hasPrefix(distinct, key)) page.add(key);
    }
    return page.names();
  }

  /** Opens the files with the counts of this instant, for a copy, as {@link openCounts}. The caller closes them. */
  openFiles(): OpenCounts[] {
    return openCounts(this.#folder.path, this.#journal);
  }

  /** Writes pending changes and closes the store. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    while (this.#unwritten.length > 0 || this.#syncing.length > 0) {
      this.#flush();
      await this.#synced;
    }
    await this.#compactor.stop();
    this.#journal.close();
  }

  #wait(change: PendingChange): void {
    const count = this.#unwritten.push(change);
    if (count === 1) setImmediate(this.#flush);
    else if (count === MOST_UNWRITTEN) this.#flush();
  }

  readonly #flush = (): void => {
    // While the disk is busy, more changes may be added. `#commit` flushes them after the sync.
    if (this.#unwritten.length === 0 || this.#syncing.length > 0) return;
    const compact = this.#compactor.due;
    try {
      this.#journal.write();
      // The event loop waits for the disk once for each journal: a snapshot may begin only when everything in memory is safe.
      if (this.#fsync && compact) this.#journal.syncNow();
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#syncing = this.#unwritten;
    this.#unwritten = [];
    if (this.#fsync && !compact) {
      this.#synced = this.#journal.sync().then(this.#commit, this.#fail);
      return;
    }
    this.#commit();
    if (compact) this.#compactor.start(this.#clock.now());
  };

  readonly #commit = (): void => {
    const changes = this.#syncing;
    this.#syncing = [];
    this.#journal.commit();
    this.#recent.succeeded();
    for (const change of changes) change.resolve();
    this.#flush();
  };

  readonly #fail = (error: unknown): void => {
    const changes = [...this.#syncing, ...this.#unwritten];
    this.#syncing = [];
    this.#unwritten = [];
    this.#journal.rollBack();
    for (const change of changes.toReversed()) change.undo();
    const detail = "the count of this run cannot be written, so it was not started; a retry may succeed";
    const problem = new Problem("store_unavailable", detail, { cause: error });
    this.#recent.failed(error);
    for (const change of changes) change.reject(problem);
    this.#onError(error);
  };
}

/** An admission. A class, because the closures of an object would be created for each run. */
class PendingAdmission implements PendingChange {
  readonly reject: (error: Problem) => void;
  readonly #table: KeyTable;
  readonly #charges: readonly Charge[];
  readonly #logs: readonly CellLog[];
  readonly #decision: Decision;
  readonly #resolve: (decision: Decision) => void;

  constructor(
    table: KeyTable,
    charges: readonly Charge[],
    logs: readonly CellLog[],
    decision: Decision,
    resolve: (decision: Decision) => void,
    reject: (error: Problem) => void,
  ) {
    this.#table = table;
    this.#charges = charges;
    this.#logs = logs;
    this.#decision = decision;
    this.#resolve = resolve;
    this.reject = reject;
  }

  undo(): void {
    for (const [at, log] of this.#logs.entries()) {
      log.undo();
      if (log.empty) this.#table.drop(this.#charges[at]!.key);
    }
  }

  resolve(): void {
    this.#resolve(this.#decision);
  }
}

function stopping(): Problem {
  return new Problem("draining", "the service is stopping and counts no more runs");
}
