import { type Database, type DatabaseDefinition, openDatabase } from "../../database.ts";
import { Problem } from "../../errors.ts";
import { MAX_VERSIONS, type PutOutcome, type StoredVersion, type TaskRoom, type TaskStore } from "../store.ts";

/** Named tasks in a database of a folder that only this process uses. */
export class SqliteTaskStore implements TaskStore {
  readonly #database: Database<Statement>;
  readonly #statements: Database<Statement>["statements"];

  /** @throws {Error} when the database in this file cannot be used. The message contains the fix. */
  static open(file: string): SqliteTaskStore {
    return openDatabase(file, DEFINITION, (database) => new SqliteTaskStore(database));
  }

  private constructor(database: Database<Statement>) {
    this.#database = database;
    this.#statements = database.statements;
  }

  newest(container: string, name: string): string | null {
    return this.#newest(container, name)?.record ?? null;
  }

  version(container: string, name: string, version: number): StoredVersion | null {
    const row = guarded(() => this.#statements.version.get(container, name, version));
    return row ? storedOf(row) : null;
  }

  versions(container: string, name: string): string[] {
    return guarded(() => this.#statements.versions.all(container, name)).map(recordOf);
  }

  put(
    container: string,
    name: string,
    added: StoredVersion,
    after: string | null,
    room: TaskRoom,
  ): Promise<PutOutcome> | PutOutcome {
    const { version, etag, record, code } = added;
    return this.#change(container, name, after, () => {
      if (after === null && Number(this.#statements.count.get(container)!["count"]) >= room.containerTasks) {
        return "containerTasks";
      }
      this.#statements.put.run(container, name, version, etag, record, code);
      this.#statements.forget.run(container, name, version - MAX_VERSIONS);
      return this.#measure(container, name, room);
    });
  }

  async remove(container: string, name: string, etag: string): Promise<boolean> {
    const outcome = await this.#change(container, name, etag, () => {
      this.#statements.remove.run(container, name);
      this.#statements.removeSize.run(container, name);
      return "stored";
    });
    return outcome === "stored";
  }

  list(container: string, after: string, count: number): string[] {
    return guarded(() => this.#statements.list.all(container, after, count)).map(recordOf);
  }

  names(container: string, count: number): string[] {
    return guarded(() => this.#statements.names.all(container, count)).map(({ name }) => String(name));
  }

  keepNote(id: string, note: string): Promise<void> | void {
    // The note is for a killed service, so it does not wait for the disk.
    return this.#write(() => this.#database.withoutFlush(() => this.#statements.keepNote.run(id, note)));
  }

  deleteNote(id: string): Promise<void> | void {
    return this.#write(() => this.#database.withoutFlush(() => this.#statements.deleteNote.run(id)));
  }

  /** Only the process that has opened the store makes changes, and it has made none yet. */
  killedNotes(): Map<string, string> {
    return new Map(guarded(() => this.#statements.notes.all()).map(({ id, note }) => [String(id), String(note)]));
  }

  close(): void {
    this.#database.close();
  }

  #newest(container: string, name: string): { etag: string; record: string } | null {
    const row = guarded(() => this.#statements.newest.get(container, name));
    return row ? { etag: String(row["etag"]), record: recordOf(row) } : null;
  }

  /** Counts the current task against the family. A task that grows must fit; a task that shrinks is always allowed. */
  #measure(container: string, name: string, { family, familyTasks, familyBytes }: TaskRoom): PutOutcome {
    const bytes = Number(this.#statements.measured.get(container, name)!["bytes"]);
    const before = this.#statements.size.get(container, name);
    if (family !== null) {
      const isOwn = before?.["family"] === family;
      const others = this.#statements.others.get(family, container, name)!;
      if (!isOwn && Number(others["tasks"]) >= familyTasks) return "familyTasks";
      const grows = !isOwn || bytes > Number(before["bytes"]);
      if (grows && Number(others["bytes"]) + bytes > familyBytes) return "familyBytes";
    }
    this.#statements.storeSize.run(container, name, family, bytes);
    return "stored";
  }

  #change(
    container: string,
    name: string,
    after: string | null,
    change: () => PutOutcome,
  ): Promise<PutOutcome> | PutOutcome {
    return this.#write(() => {
      this.#database.checkpointSoon();
      return this.#database.transaction(
        () => ((this.#newest(container, name)?.etag ?? null) === after ? change() : "changed"),
        (outcome) => outcome === "stored",
      );
    });
  }

  #write<T>(change: () => T): T | Promise<T> {
    return this.#database.whenUnlocked(() => guarded(change));
  }
}

function guarded<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem("store_unavailable", "the named tasks cannot be read or written; try again", { cause: error });
  }
}

function recordOf(row: Readonly<Record<string, unknown>>): string {
  return String(row["record"]);
}

function storedOf(row: Readonly<Record<string, unknown>>): StoredVersion {
  const { version, etag, code } = row;
  return {
    version: Number(version),
    etag: String(etag),
    record: recordOf(row),
    code: typeof code === "string" ? code : null,
  };
}

const BYTES = "sum(octet_length(record) + coalesce(octet_length(code), 0))";

const STATEMENTS = {
  newest: "SELECT etag, record FROM tasks WHERE container = ? AND name = ? ORDER BY version DESC LIMIT 1",
  version: "SELECT version, etag, record, code FROM tasks WHERE container = ? AND name = ? AND version = ?",
  versions: "SELECT record FROM tasks WHERE container = ? AND name = ? ORDER BY version DESC",
  put: "INSERT INTO tasks (container, name, version, etag, record, code) VALUES (?, ?, ?, ?, ?, ?)",
  count: "SELECT count(*) AS count FROM task_sizes WHERE container = ?",
  size: "SELECT family, bytes FROM task_sizes WHERE container = ? AND name = ?",
  measured: `SELECT ${BYTES} AS bytes FROM tasks WHERE container = ? AND name = ?`,
  others: `SELECT count(*) AS tasks, coalesce(sum(bytes), 0) AS bytes FROM task_sizes
    WHERE family = ? AND NOT (container = ? AND name = ?)`,
  storeSize: "INSERT OR REPLACE INTO task_sizes (container, name, family, bytes) VALUES (?, ?, ?, ?)",
  removeSize: "DELETE FROM task_sizes WHERE container = ? AND name = ?",
  forget: "DELETE FROM tasks WHERE container = ? AND name = ? AND version <= ?",
  remove: "DELETE FROM tasks WHERE container = ? AND name = ?",
  list: `SELECT record FROM tasks AS t WHERE container = ? AND name > ?
    AND version = (SELECT max(version) FROM tasks WHERE container = t.container AND name = t.name) ORDER BY name LIMIT ?`,
  names: "SELECT name FROM task_sizes WHERE container = ? LIMIT ?",
  keepNote: "INSERT INTO change_notes (id, note) VALUES (?, ?)",
  deleteNote: "DELETE FROM change_notes WHERE id = ?",
  notes: "SELECT id, note FROM change_notes",
};

type Statement = keyof typeof STATEMENTS;

/** The version of the format. */
export const TASKS_VERSION = 1;

const DEFINITION: DatabaseDefinition<Statement> = {
  version: TASKS_VERSION,
  content: "the named tasks",
  remedy: "restore it from a backup, or remove it and put the tasks again",
  schema: `
  CREATE TABLE IF NOT EXISTS tasks (
    container TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, etag TEXT NOT NULL, record TEXT NOT NULL,
    code TEXT, PRIMARY KEY (container, name, version)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS task_sizes (
    container TEXT NOT NULL, name TEXT NOT NULL, family TEXT, bytes INTEGER NOT NULL, PRIMARY KEY (container, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS task_sizes_family ON task_sizes (family, bytes) WHERE family IS NOT NULL;
  CREATE TABLE IF NOT EXISTS change_notes (id TEXT PRIMARY KEY, note TEXT NOT NULL) STRICT, WITHOUT ROWID;
`,
  statements: STATEMENTS,
};
