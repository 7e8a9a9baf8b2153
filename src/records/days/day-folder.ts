import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";

import { COMPANIONS, setAside } from "../set-aside.ts";
import { type Day, nameOf, parseName } from "./day.ts";

/** Files that are deleted together: a database with its companions. */
export interface DayFiles {
  readonly day: Day;
  /** The name of the database. */
  readonly database: string;
  /** Whether it is damaged, and another database has its day. */
  readonly isSetAside: boolean;
  readonly names: string[];
  bytes: number;
}

/** The folder with one database for each day. */
export class DayFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  create(): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /**
   * Returns whether SQLite, which uses absolute paths, can reach the folder. A service that gave up root may have a folder
   * below one that is closed to its user, and reaches it by a relative path only.
   */
  get isReachable(): boolean {
    return !existsSync(this.#folder) || existsSync(path.resolve(this.#folder));
  }

  pathOf(day: Day): string {
    return path.join(this.#folder, nameOf(day));
  }

  /** Returns the days that have a database, the newest first. */
  days(): Day[] {
    const names = this.#names().map(parseName);
    return names.flatMap((name) => (name?.ending === "" ? [name.day] : [])).toSorted((a, b) => b - a);
  }

  /** Returns all files of all days, the oldest day first and damaged files before others. */
  files(): DayFiles[] {
    const found = new Map<string, DayFiles>();
    for (const name of this.#names()) {
      const parsed = parseName(name);
      if (!parsed) continue;
      const { day } = parsed;
      const database = name.replace(/-(?:wal|shm|journal)$/, "");
      let files = found.get(database);
      if (!files) {
        const isSetAside = database !== nameOf(day);
        found.set(database, (files = { day, database, isSetAside, names: [], bytes: 0 }));
      }
      files.names.push(name);
      files.bytes += this.#size(name);
    }
    return [...found.values()].toSorted((a, b) => a.day - b.day || Number(b.isSetAside) - Number(a.isSetAside));
  }

  /** Returns the bytes of the database of a day, with its companions. */
  bytesOf(day: Day): number {
    const name = nameOf(day);
    return ["", ...COMPANIONS].reduce((sum, ending) => sum + this.#size(name + ending), 0);
  }

  /** Identifies the database of a day; null if there is none. Another file of the same name has another identity. */
  identityOf(day: Day): string | null {
    const found = statSync(this.pathOf(day), { throwIfNoEntry: false, bigint: true });
    return found ? `${found.dev}:${found.ino}` : null;
  }

  /** Returns whether something else than a file has the name of the database of a day. */
  isNoFile(day: Day): boolean {
    return statSync(this.pathOf(day), { throwIfNoEntry: false })?.isFile() === false;
  }

  remove({ names }: Pick<DayFiles, "names">): void {
    for (const name of names) rmSync(path.join(this.#folder, name), { force: true, recursive: true });
  }

  /** Removes companions without a database. SQLite would add their content to a new database of that name. */
  removeCompanions(day: Day): void {
    this.remove({ names: COMPANIONS.map((ending) => nameOf(day) + ending) });
  }

  /** Renames a damaged database, so that a new one can begin and an operator can look at the old one. */
  setAside(day: Day): void {
    setAside(this.pathOf(day));
  }

  #size(name: string): number {
    return statSync(path.join(this.#folder, name), { throwIfNoEntry: false })?.size ?? 0;
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }
}
