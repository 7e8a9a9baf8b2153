import { type Database, type DatabaseDefinition, openDatabase } from "../../database.ts";
import type { AuditEntry, AuditPage, AuditQuery } from "./audit.ts";

/** The version of the format. */
export const AUDIT_VERSION = 1;

/** The bounds of the file. */
export interface AuditBounds {
  /** How long entries are kept. */
  readonly keptMs: number;
  /** The entries of a family of tokens. Past it, its own oldest entries go, so no family pushes out those of others. */
  readonly familyEntries: number;
  /** The entries of administrators and of the service. */
  readonly adminEntries: number;
  /** The entries that a page looks at. */
  readonly looked: number;
}

/** @param entries the entries of administrators and of the service; a family has a tenth */
export function auditBounds(entries: number): AuditBounds {
  return {
    keptMs: 365 * 86_400_000,
    familyEntries: Math.floor(entries / 10),
    adminEntries: entries,
    looked: 20_000,
  };
}

/** An entry to write. `family` is empty for administrators and for the service. */
export interface AuditRow {
  readonly atMs: number;
  readonly action: string;
  readonly by: string | null;
  readonly family: string;
  readonly client: string | null;
  /** JSON. */
  readonly details: string;
}

/** The old entries that one write deletes at most: more than it adds, so that the file shrinks. */
const DELETED_AT_ONCE = 20;
const ADMINISTRATORS = "";
/** The characters of details of a page, because the service copies and writes a page in one turn of its event loop. */
const MAX_PAGE_CHARS = 256 * 2 ** 10;

/** The file of the audit. Each entry is on the disk when `add` returns. */
export class AuditFile {
  readonly #database: AuditDatabase;
  readonly #bounds: AuditBounds;
  /** The number of entries by family. */
  readonly #counts: Map<string, number> = new Map();

  /** @throws {Error} if the file cannot be used. */
  static open(file: string, bounds: AuditBounds): AuditFile {
    return openDatabase(file, DEFINITION, (database) => new AuditFile(database, bounds));
  }

  private constructor(database: AuditDatabase, bounds: AuditBounds) {
    this.#database = database;
    this.#bounds = bounds;
    for (const { family, entries } of database.statements.counts.all()) {
      this.#counts.set(String(family), Number(entries));
    }
  }

  /**
   * @param keptNowMs the time that decides which entries are old
   * @throws the error of SQLite; then nothing was changed.
   */
  add({ atMs, action, by, family, client, details }: AuditRow, keptNowMs: number = atMs): void {
    const { statements } = this.#database;
    const counts = this.#database.transaction(() => {
      statements.add.run(atMs, action, by, family, client, details);
      const count = (this.#counts.get(family) ?? 0) + 1;
      const most = family === ADMINISTRATORS ? this.#bounds.adminEntries : this.#bounds.familyEntries;
      const excess = Math.min(Math.max(0, count - most), DELETED_AT_ONCE);
      const changes: [string, number][] = [[family, count]];
      if (excess > 0) changes.push([family, count - Number(statements.removeOldest.run(family, excess).changes)]);
      changes.push(...this.#removeOld(keptNowMs - this.#bounds.keptMs, new Map(changes)));
      return changes;
    });
    // After the commit, because a transaction that fails changes nothing.
    for (const [name, count] of counts) this.#counts.set(name, count);
  }

  list({ sinceMs, untilMs, action, by, after, count }: AuditQuery): AuditPage {
    const { atMs, id } = after ?? { atMs: untilMs ?? Number.MAX_SAFE_INTEGER, id: 0 };
    const before = untilMs !== null && untilMs < atMs ? { atMs: untilMs, id: 0 } : { atMs, id };
    const rows = this.#database.statements.page.iterate(before.atMs, before.id, sinceMs ?? 0, this.#bounds.looked + 1);
    const entries: AuditEntry[] = [];
    const ids: number[] = [];
    let looked = 0;
    let chars = 0;
    let last = "";
    for (const row of rows as Iterable<StoredEntry>) {
      const matches = (action === null || row.action === action) && (by === null || row.by === by);
      const isFull = matches && (entries.length === count || chars > MAX_PAGE_CHARS);
      if (looked === this.#bounds.looked || isFull) return { entries, ids, next: last };
      looked++;
      if (matches) {
        entries.push(entryOf(row));
        ids.push(row.id);
        chars += row.details.length;
      }
      last = `${row.at}.${row.id}`;
    }
    return { entries, ids, next: null };
  }

  close(): void {
    this.#database.close();
  }

  /** @returns the new counts of the families whose entries were removed. */
  #removeOld(beforeMs: number, counted: ReadonlyMap<string, number>): [string, number][] {
    const removed = this.#database.statements.removeOld.all(beforeMs, DELETED_AT_ONCE);
    const counts = new Map(counted);
    for (const { family } of removed) {
      const name = String(family);
      counts.set(name, (counts.get(name) ?? this.#counts.get(name) ?? 0) - 1);
    }
    return [...counts];
  }
}

interface StoredEntry {
  readonly id: number;
  readonly at: number;
  readonly action: string;
  readonly by: string | null;
  readonly client: string | null;
  readonly details: string;
}

function entryOf({ at, action, by, client, details }: StoredEntry): AuditEntry {
  return {
    at: new Date(at).toISOString(),
    action,
    by,
    client,
    details: JSON.parse(details) as Record<string, unknown>,
  };
}

type Statement = "add" | "counts" | "removeOldest" | "removeOld" | "page";
type AuditDatabase = Database<Statement>;

const DEFINITION: DatabaseDefinition<Statement> = {
  version: AUDIT_VERSION,
  content: "the entries of the audit",
  hasOwnThread: true,
  remedy: "move it away, and a new file begins",
  schema: `
    CREATE TABLE IF NOT EXISTS entries (
      id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, action TEXT NOT NULL, by TEXT, family TEXT NOT NULL,
      client TEXT, details TEXT NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS entries_at ON entries (at, id);
    CREATE INDEX IF NOT EXISTS entries_family ON entries (family, id);
  `,
  statements: {
    add: "INSERT INTO entries (at, action, by, family, client, details) VALUES (?, ?, ?, ?, ?, ?)",
    counts: "SELECT family, COUNT(*) AS entries FROM entries GROUP BY family",
    removeOldest: "DELETE FROM entries WHERE id IN (SELECT id FROM entries WHERE family = ? ORDER BY id LIMIT ?)",
    removeOld:
      "DELETE FROM entries WHERE id IN (SELECT id FROM entries WHERE at < ? ORDER BY at, id LIMIT ?) RETURNING family",
    page: `
      SELECT id, at, action, by, client, details FROM entries WHERE (at, id) < (?, ?) AND at >= ?
      ORDER BY at DESC, id DESC LIMIT ?`,
  },
};
