import { type Database, type DatabaseDefinition, openDatabase } from "../../database.ts";
import { Problem } from "../../errors.ts";
import { Page } from "../../limits/page.ts";
import { readPolicy } from "../policy-request.ts";
import type { ContainerPolicy, PolicyStore } from "../store.ts";

/** Policies in memory, and in a database of a folder that this process alone uses. */
export class SqlitePolicyStore implements PolicyStore {
  readonly #database: PolicyDatabase;
  readonly #policies = new Map<string, ContainerPolicy>();

  /** @throws {Error} when the database in this file cannot be used: the message says what to do. */
  static open(file: string): SqlitePolicyStore {
    return openDatabase(file, DEFINITION, (database) => new SqlitePolicyStore(database));
  }

  private constructor(database: PolicyDatabase) {
    this.#database = database;
    for (const row of database.statements.all.iterate()) {
      this.#policies.set(String(row["container"]), policyOf(row));
    }
  }

  get(container: string): ContainerPolicy | undefined {
    return this.#policies.get(container);
  }

  set(container: string, policy: ContainerPolicy, setBy: string): Promise<void> {
    return this.#write(() => {
      this.#database.statements.set.run(container, JSON.stringify(policy), setBy, Date.now());
      // After the disk: what was answered as set must not be gone with a restart.
      this.#policies.set(container, policy);
    });
  }

  remove(container: string): Promise<boolean> {
    return this.#write(() => {
      this.#database.statements.remove.run(container);
      return this.#policies.delete(container);
    });
  }

  containers(after: string, count: number): string[] {
    const page = new Page(after, count);
    for (const container of this.#policies.keys()) page.add(container);
    return page.names();
  }

  close(): void {
    this.#database.close();
  }

  /** One statement, which is a transaction of its own. */
  async #write<T>(change: () => T): Promise<T> {
    try {
      return change();
    } catch (error) {
      const detail = "the policies of containers cannot be written; nothing was changed";
      throw new Problem("store_unavailable", detail, { cause: error });
    }
  }
}

type Statement = "all" | "set" | "remove";
type PolicyDatabase = Database<Statement>;

const DEFINITION: DatabaseDefinition<Statement> = {
  content: "the policies of containers",
  remedy:
    "restore it from a backup, or remove it and set them again: without it the limits of no container hold but the " +
    "server's own and those of tokens",
  schema: `
    CREATE TABLE IF NOT EXISTS policies (
      container TEXT PRIMARY KEY, policy TEXT NOT NULL, set_by TEXT NOT NULL, set_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
  statements: {
    all: "SELECT container, policy FROM policies",
    set: "INSERT OR REPLACE INTO policies (container, policy, set_by, set_at) VALUES (?, ?, ?, ?)",
    remove: "DELETE FROM policies WHERE container = ?",
  },
};

/** As strictly as it was read when it came: a member that this version does not know may be one that narrows. */
function policyOf(row: Readonly<Record<string, unknown>>): ContainerPolicy {
  try {
    return readPolicy(JSON.parse(String(row["policy"])));
  } catch (error) {
    throw new Error(`what it holds for container ${JSON.stringify(row["container"])} is no policy`, { cause: error });
  }
}
