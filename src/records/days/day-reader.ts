import { existsSync, statSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

import { byNewest, type Cursor } from "../query.ts";
import { isDamage } from "../sqlite-fault.ts";
import { SCHEMA_VERSION } from "./day-file.ts";
import type { RunFilter, RunHead } from "./run-filter.ts";

/** The milliseconds that a read waits while the writer creates or recovers a database. */
const BUSY_TIMEOUT_MS = 1_000;
/** The most containers whose runs are read from their own index. More are found by reading the runs of all containers. */
const MOST_CONTAINERS = 128;

/** Which runs of a day a walk looks at. */
export interface Range {
  /** Runs after this position, in the order of lists. */
  readonly after: Cursor;
  /** The earliest start. */
  readonly sinceMs: number;
  readonly failedOnly: boolean;
}

export interface StoredRun {
  readonly entry: string;
  readonly detail: string | null;
  readonly lineage: string;
}

/** The database of a day, open for one read. */
export class DayReader {
  readonly #connection: DatabaseSync;
  readonly #read: StatementSync;

  /** @returns null if the file is gone or is being created. @throws the error of SQLite if it cannot be read. */
  static open(file: string): DayReader | null {
    try {
      return this.#connect(file);
    } catch (error) {
      const hasLog = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
      if (!existsSync(file)) return null;
      // On a full disk SQLite cannot create the memory that readers share. A day that is not written needs none.
      if (hasLog || isDamage(error)) throw error;
      return this.#connect(`${pathToFileURL(file).href}?immutable=1`);
    }
  }

  static #connect(location: string): DayReader | null {
    const connection = new DatabaseSync(location, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    try {
      const version = Number(connection.prepare("PRAGMA user_version").get()?.["user_version"]);
      if (version === SCHEMA_VERSION) return new DayReader(connection);
      connection.close();
      return null;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  private constructor(connection: DatabaseSync) {
    this.#connection = connection;
    this.#read = connection.prepare("SELECT entry, detail, lineage FROM runs WHERE id = ?");
  }

  /** Returns the runs of a range, the newest start first. */
  *heads(filter: RunFilter, range: Range): Generator<RunHead> {
    const containers = this.#containers(filter.patterns);
    const iterators = containers
      ? containers.map((container) => this.#newest(range, container))
      : [this.#newest(range, null)];
    yield* merged(iterators);
  }

  read(id: number): StoredRun {
    return this.#read.get(id) as unknown as StoredRun;
  }

  find(container: string, run: string): StoredRun | null {
    const statement = this.#prepare("SELECT entry, detail, lineage FROM runs WHERE run = ? AND container = ?");
    return (statement.get(run, container) as unknown as StoredRun | undefined) ?? null;
  }

  /** @param reader the family whose runs in containers without a name count too; null for none */
  omitted(filter: RunFilter, reader: string | null): number {
    let sum = 0;
    for (const { family, container, count } of this.#prepare(
      "SELECT family, container, count FROM omitted",
    ).iterate()) {
      const isOfReader = container === "" && family === reader;
      // Only the pattern of all containers matches an empty name.
      if (isOfReader || filter.matchesContainer(String(container))) sum += Number(count);
    }
    return sum;
  }

  close(): void {
    this.#connection.close();
  }

  #newest({ after, sinceMs, failedOnly }: Range, container: string | null): Iterator<RunHead> {
    const index = `${failedOnly ? "failures" : "runs"}_by_${container === null ? "start" : "container"}`;
    const sql = `SELECT id, started_ms AS startedMs, run, container, task, status FROM runs INDEXED BY ${index}
      WHERE (started_ms, run) < (?, ?) AND started_ms >= ? ${failedOnly ? "AND failed = 1" : ""}
      ${container === null ? "" : "AND container = ?"} ORDER BY started_ms DESC, run DESC`;
    const args = [after.startedMs, after.run, sinceMs, ...(container === null ? [] : [container])];
    return this.#prepare(sql).iterate(...args) as Iterator<Record<keyof RunHead, unknown>> as Iterator<RunHead>;
  }

  /**
   * Returns the containers of the day that match the patterns, each from one look at the index; null if they are many.
   * With them, a reader of few containers finds its runs at once, however many runs other containers have.
   */
  #containers(patterns: readonly string[]): string[] | null {
    const next = this.#prepare("SELECT min(container) AS name FROM runs WHERE container >= ?");
    const found = new Set<string>();
    for (const pattern of patterns) {
      const isPrefix = pattern.endsWith("*");
      const prefix = isPrefix ? pattern.slice(0, -1) : pattern;
      for (let from = prefix; ;) {
        const name = next.get(from)?.["name"];
        if (typeof name !== "string" || !(isPrefix ? name.startsWith(prefix) : name === prefix)) break;
        found.add(name);
        if (found.size > MOST_CONTAINERS) return null;
        if (!isPrefix) break;
        // The least text that is greater.
        from = `${name}\0`;
      }
    }
    return [...found];
  }

  #prepare(sql: string): StatementSync {
    return this.#connection.prepare(sql);
  }
}

/** Merges runs that are each in the order of lists. */
function* merged(iterators: readonly Iterator<RunHead>[]): Generator<RunHead> {
  const heads: { iterator: Iterator<RunHead>; head: RunHead }[] = [];
  for (const iterator of iterators) {
    const { value } = iterator.next() as IteratorResult<RunHead, undefined>;
    if (value) heads.push({ iterator, head: value });
  }
  try {
    while (heads.length > 0) {
      const first = heads.reduce((a, b) => (byNewest(a.head, b.head) <= 0 ? a : b));
      yield first.head;
      const { value } = first.iterator.next() as IteratorResult<RunHead, undefined>;
      if (value) first.head = value;
      else heads.splice(heads.indexOf(first), 1);
    }
  } finally {
    for (const { iterator } of heads) iterator.return?.();
  }
}
