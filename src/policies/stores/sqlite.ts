import { type Database, type DatabaseDefinition, openDatabase } from "../../database.ts";
import { Problem } from "../../errors.ts";
import { Page } from "../../limits/page.ts";
import { readPolicy } from "../policy-request.ts";
import type { ContainerPolicy, PolicyStore } from "../store.ts";

/** Stores policies in memory and in a database of the data folder, which only this process uses. */
export class SqlitePolicyStore implements PolicyStore {
  readonly #database: PolicyDatabase;
  readonly #policies = new Map<string, ContainerPolicy>();

  /** @throws {Error} if the database cannot be used. The message contains the remedy. */
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
      // After the write to the disk, because an acknowledged policy must survive a restart.
      this.#policies.set(container, policy);
    });
  }

  remove(container: string): Promise<boolean> {
    return this.#write(() => {
      this.#database.statements.remove.run(container);
      return this.#policies.delete(container);
    });
  }

  containers(after: string, count: number, filter: (container: string) => boolean = () => true): string[] {
    const page = new Page(after, count);
    for (const container of this.#policies.keys()) if (filter(container)) page.add(container);
    return page.names();
  }

  close(): void {
    this.#database.close();
  }

  /** Runs one statement, which SQLite executes as a transaction. */
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
    "restore it from a backup, or remove it and set the policies again: without it only the limits of the service and of " +
    "tokens apply",
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

/** Parses a stored policy as strictly as a request, because a member of a newer version may restrict the container. */
function policyOf(row: Readonly<Record<string, unknown>>): ContainerPolicy {
  try {
    return readPolicy(JSON.parse(String(row["policy"])));
  } catch (error) {
    throw new Error(`its entry for container ${JSON.stringify(row["container"])} is not a valid policy`, {
      cause: error,
    });
  }
}
