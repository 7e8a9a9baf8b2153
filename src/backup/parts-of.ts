import { closeSync, createReadStream, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";

import type { OpenCounts } from "../limits/stores/embedded/open-files.ts";
import { isDamage, reasonOf } from "../records/sqlite-fault.ts";
import { readPrivate } from "../tokens/private-file.ts";
import { type BackupSource, copyDatabase } from "./backup-source.ts";
import { writeAbout } from "./formats.ts";
import { ABOUT, isDay, type Part, partOf } from "./part.ts";

export interface BackupOptions {
  /** Whether to leave out the records of runs. The counts of runs and the audit stay. */
  readonly withoutRecords: boolean;
}

/** The folder for the copy of one database. A process that is killed leaves it, and the next backup or start removes it. */
const COPIES = "backup.unfinished";

export function removeUnfinishedCopies(history: string): void {
  rmSync(path.join(history, COPIES), { recursive: true, force: true });
}

/**
 * Copies a data folder part by part. At most one database is copied at a time, so the disk needs room for the largest.
 *
 * The order is that in which parts depend on each other: a task needs its token, which needs its secrets and keys. What is
 * added meanwhile is then missing as a whole, or there without a use.
 *
 * @param warn receives what is left out
 * @throws {Error} if a part that is needed cannot be read.
 */
export async function* partsOf(
  source: BackupSource,
  { withoutRecords }: BackupOptions,
  warn: (warning: string) => void,
): AsyncGenerator<Part> {
  const { folder, history, databases } = source;
  yield partOf(ABOUT, writeAbout(source.release, Date.now()));
  yield* countsOf(source.counts());
  const copies = path.join(history, COPIES);
  await rm(copies, { recursive: true, force: true });
  mkdirSync(copies, { mode: 0o700 });
  try {
    for (const name of databases.names) {
      yield* copyOf(name, copies, (to) => databases.copy(name, to));
    }
    yield* privateFile("keys.json", source.keys);
    yield* privateFile("secrets.key", source.secretsKey);
    yield* privateFile("admin.token", path.join(folder, "admin.token"));
    for (const name of historyOf(history)) {
      if (withoutRecords && isDay(name)) continue;
      try {
        yield* copyOf(name, copies, (to) => copyDatabase(path.join(history, name), to));
      } catch (error) {
        // The service deletes old days meanwhile. Damaged history must not stop the backup of the rest.
        if (!existsSync(path.join(history, name))) continue;
        if (!isDamage(error)) throw error;
        warn(`${name} is damaged (${reasonOf(error)}) and not in the backup`);
      }
    }
  } finally {
    await rm(copies, { recursive: true, force: true });
  }
}

async function* countsOf(files: readonly OpenCounts[]): AsyncGenerator<Part> {
  const left = new Set(files);
  try {
    for (const file of files) {
      const { name, descriptor, bytes } = file;
      yield {
        name: `limits/${name}`,
        bytes,
        content: contentOf(bytes, () =>
          createReadStream("", { fd: descriptor, start: 0, end: bytes - 1, autoClose: false }),
        ),
      };
      left.delete(file);
      closeSync(descriptor);
    }
  } finally {
    for (const { descriptor } of left) closeSync(descriptor);
  }
}

async function* copyOf(name: string, copies: string, copy: (to: string) => Promise<void>): AsyncGenerator<Part> {
  const to = path.join(copies, path.basename(name));
  await copy(to);
  const { size: bytes } = statSync(to);
  yield { name, bytes, content: contentOf(bytes, () => createReadStream(to)) };
  // By a thread, because the removal of a large file takes a file system tens of milliseconds.
  await rm(to);
}

/** A stream of no bytes cannot be opened, because its end is before its start. */
async function* contentOf(bytes: number, open: () => AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (bytes > 0) yield* open();
}

async function* privateFile(name: string, file: string): AsyncGenerator<Part> {
  const text = await readPrivate(file);
  if (text !== undefined) yield partOf(name, text);
}

/** Returns the names of the databases of the history. */
function historyOf(history: string): string[] {
  const runs = path.join(history, "runs");
  const days = existsSync(runs) ? readdirSync(runs).map((name) => `runs/${name}`) : [];
  const names = ["audit.sqlite", "runs/usage.sqlite", ...days.filter(isDay).toSorted()];
  return names.filter((name) => existsSync(path.join(history, name)));
}
