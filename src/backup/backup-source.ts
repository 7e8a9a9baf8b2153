import { chmodSync, closeSync, existsSync, openSync } from "node:fs";
import path from "node:path";
import { backup, DatabaseSync } from "node:sqlite";

import type { OpenCounts } from "../limits/stores/embedded/open-files.ts";
import { PACKAGES_DATABASE, SHARED_DATABASES } from "./part.ts";

/** What a backup copies, as the process that copies reaches it. */
export interface BackupSource {
  /** The release that uses the folder. */
  readonly release: string;
  /** The data folder. */
  readonly folder: string;
  /** The folder with the records of runs and the audit; usually the data folder. Copies of databases are made in it. */
  readonly history: string;
  /** The file with the signing keys; usually in the data folder. */
  readonly keys: string;
  readonly secretsKey: string;
  readonly databases: CopiedDatabases;
  /** Opens the files with the counts of this instant; none if they are in Redis. */
  counts(): OpenCounts[];
}

/** All pages in one step, which is one read transaction: changes of the service do not make the copy begin again. */
const ALL_PAGES = 2 ** 31 - 1;
const BUSY_TIMEOUT_MS = 5_000;

/**
 * The databases of the data folder, except the history.
 *
 * SQLite can open no file below a folder that is closed to the service's user, such as `/root`. A service that root started
 * there opens them for copies while it is still root.
 */
export class CopiedDatabases {
  readonly #folder: string;
  readonly #names: readonly string[];
  readonly #open = new Map<string, DatabaseSync>();

  /**
   * @param isShared whether the nodes share these databases in Redis, so that the folder has none
   * @param isClosed whether they must be opened now, because they cannot be opened later
   */
  constructor(folder: string, isShared: boolean, isClosed: boolean) {
    this.#folder = folder;
    this.#names = [...(isShared ? [] : SHARED_DATABASES), PACKAGES_DATABASE];
    if (isClosed) for (const name of this.#names) this.#open.set(name, openToCopy(path.join(folder, name)));
  }

  get names(): readonly string[] {
    return this.#names.filter((name) => existsSync(path.join(this.#folder, name)));
  }

  /** Copies a database, as {@link copyDatabase}. */
  async copy(name: string, to: string): Promise<void> {
    const open = this.#open.get(name);
    if (open) await copyOf(open, to);
    else await copyDatabase(path.join(this.#folder, name), to);
  }

  close(): void {
    for (const database of this.#open.values()) database.close();
    this.#open.clear();
  }
}

/**
 * Copies a database at one instant into a new file, which only its owner can read. A thread of libuv reads and writes, so
 * this thread does not wait, and the service can change the database meanwhile.
 *
 * @throws the error of SQLite or of the system.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const database = openToCopy(from);
  try {
    await copyOf(database, to);
  } finally {
    database.close();
  }
}

async function copyOf(database: DatabaseSync, to: string): Promise<void> {
  // SQLite would create it with the rights of the umask.
  closeSync(openSync(to, "wx", 0o600));
  chmodSync(to, 0o600);
  await backup(database, to, { rate: ALL_PAGES });
}

function openToCopy(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  // SQLite opens the write-ahead log at the first read, and that must happen while the path can be opened.
  try {
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
