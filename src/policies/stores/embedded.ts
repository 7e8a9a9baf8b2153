import { closeSync, constants, openSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

import { Problem } from "../../errors.ts";
import { Page } from "../../limits/page.ts";
import type { ContainerPolicy, PolicyStore } from "../policy.ts";
import { readPolicy } from "../request.ts";

/** Policies in memory, and in a database of a folder that this process alone uses. */
export class EmbeddedPolicies implements PolicyStore {
  readonly #database: DatabaseSync;
  readonly #set: StatementSync;
  readonly #remove: StatementSync;
  readonly #policies = new Map<string, ContainerPolicy>();

  /**
   * Opens the database, or makes it, readable for its owner only. Its folder must be there.
   *
   * @throws {Error} when it cannot be used: it says what to do.
   */
  static open(file: string): EmbeddedPolicies {
    try {
      // SQLite gives its other files the mode of this one, which must therefore be right before SQLite sees it.
      closeSync(openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600));
      return new EmbeddedPolicies(new DatabaseSync(file));
    } catch (error) {
      throw new Error(
        `the policies of containers in ${resolve(file)} cannot be used: ${error instanceof Error ? error.message : String(error)}; ` +
          "restore it from a backup, or remove it and set them anew: without it the limits of no container hold but the " +
          "server's own and those of tokens",
        { cause: error },
      );
    }
  }

  private constructor(database: DatabaseSync) {
    this.#database = database;
    try {
      database.exec(SETTINGS);
      database.exec(SCHEMA);
      this.#set = database.prepare(SET);
      this.#remove = database.prepare("DELETE FROM policies WHERE container = ?");
      for (const row of database.prepare("SELECT container, policy FROM policies").iterate()) {
        this.#policies.set(String(row["container"]), policyOf(row));
      }
    } catch (error) {
      database.close();
      throw error;
    }
  }

  get(container: string): ContainerPolicy | undefined {
    return this.#policies.get(container);
  }

  set(container: string, policy: ContainerPolicy, setBy: string): Promise<void> {
    return this.#write(() => {
      this.#set.run(container, JSON.stringify(policy), setBy, Date.now());
      // After the disk: what was answered as set must not be gone with a restart.
      this.#policies.set(container, policy);
    });
  }

  remove(container: string): Promise<boolean> {
    return this.#write(() => {
      this.#remove.run(container);
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

/** Rare, and an answer to somebody who takes it for kept: it waits for the disk. */
const SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS policies (
    container TEXT PRIMARY KEY, policy TEXT NOT NULL, set_by TEXT NOT NULL, set_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

const SET = "INSERT OR REPLACE INTO policies (container, policy, set_by, set_at) VALUES (?, ?, ?, ?)";

/** As strictly as it was read when it came: a member that this version does not know may be one that narrows. */
function policyOf(row: Readonly<Record<string, unknown>>): ContainerPolicy {
  try {
    return readPolicy(JSON.parse(String(row["policy"])));
  } catch (error) {
    throw new Error(`what it holds for container ${JSON.stringify(row["container"])} is no policy`, { cause: error });
  }
}
