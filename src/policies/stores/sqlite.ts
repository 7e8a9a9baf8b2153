import { type Database, type DatabaseDefinition, openDatabase } from "../../database.ts";
import { Problem } from "../../errors.ts";
import { selectContainers } from "../select-containers.ts";
import {
  type ContainerPolicy,
  NO_POLICY,
  type PolicyChange,
  type PolicyFilter,
  type PolicyStore,
  type Suspension,
} from "../store.ts";
import { isEmpty, isSame, policyOf, storedPolicy } from "../stored-policy.ts";

/** Stores policies in memory and in a database of the data folder, which only this process uses. */
export class SqlitePolicyStore implements PolicyStore {
  readonly #database: PolicyDatabase;
  readonly #policies = new Map<string, ContainerPolicy>();
  readonly #suspendedListeners: ((container: string, suspension: Suspension) => void)[] = [];

  /** @throws {Error} if the database cannot be used. The message contains the remedy. */
  static open(file: string): SqlitePolicyStore {
    return openDatabase(file, DEFINITION, (database) => new SqlitePolicyStore(database));
  }

  private constructor(database: PolicyDatabase) {
    this.#database = database;
    for (const row of database.statements.all.iterate()) {
      this.#policies.set(String(row["container"]), policyIn(row));
    }
  }

  get(container: string): ContainerPolicy | undefined {
    return this.#policies.get(container);
  }

  async change(container: string, change: PolicyChange, by: string): Promise<ChangedPolicy> {
    return await this.#database.whenUnlocked(() => this.#change(container, change, by));
  }

  containers(after: string, count: number, filter?: PolicyFilter, holder?: string): Promise<string[]> {
    return selectContainers(this.#policies, after, count, filter, holder);
  }

  onSuspended(listener: (container: string, suspension: Suspension) => void): void {
    this.#suspendedListeners.push(listener);
  }

  close(): void {
    this.#database.close();
  }

  /** The policy before is read in the same step, because another change may have waited for the lock too. */
  #change(container: string, change: PolicyChange, by: string): ChangedPolicy {
    const before = this.#policies.get(container) ?? NO_POLICY;
    const after = change(before);
    if (isSame(before, after)) return { before, after: before };
    if (isEmpty(after)) {
      this.#write(() => this.#database.statements.remove.run(container));
      this.#policies.delete(container);
    } else {
      this.#write(() => {
        this.#database.statements.set.run(container, JSON.stringify(storedPolicy(after)), by, Date.now());
      });
      // After the write to the disk, because an acknowledged policy must survive a restart.
      this.#policies.set(container, after);
    }
    if (after.suspended) for (const listener of this.#suspendedListeners) listener(container, after.suspended);
    return { before, after };
  }

  /** Runs one statement, which SQLite executes as a transaction. */
  #write(change: () => void): void {
    try {
      change();
      this.#database.checkpointSoon();
    } catch (error) {
      const detail = "the policies of containers cannot be written; nothing was changed";
      throw new Problem("store_unavailable", detail, { cause: error });
    }
  }
}

interface ChangedPolicy {
  readonly before: ContainerPolicy;
  readonly after: ContainerPolicy;
}

type Statement = "all" | "set" | "remove";
type PolicyDatabase = Database<Statement>;

/** The version of the format. */
export const POLICIES_VERSION = 1;

const DEFINITION: DatabaseDefinition<Statement> = {
  version: POLICIES_VERSION,
  content: "the policies of containers",
  remedy:
    "restore it from a backup, or remove it and parts.json and set the policies again: without it only the limits of the service and of " +
    "tokens apply, and no container is suspended",
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

/** Returns the policy in a row of the database. */
function policyIn(row: Readonly<Record<string, unknown>>): ContainerPolicy {
  try {
    return policyOf(JSON.parse(String(row["policy"])));
  } catch (error) {
    throw new Error(`its entry for container ${JSON.stringify(row["container"])} is not a valid policy`, {
      cause: error,
    });
  }
}
