import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import path from "node:path";

import { NewerVersion } from "../database.ts";
import { AUDIT_VERSION } from "./audit/audit-file.ts";
import { SCHEMA_VERSION } from "./days/day-file.ts";
import { USAGE_VERSION, usageFile } from "./usage/usage-file.ts";

/** The header of an SQLite database (https://sqlite.org/fileformat2.html#the_database_header). */
const MAGIC = "SQLite format 3\0";
const HEADER_BYTES = 100;
const USER_VERSION_AT = 60;

/**
 * Checks the formats of the history before a start. The threads open these files only at the first request, and a service
 * without its audit would refuse each change.
 *
 * It reads the headers without SQLite, because root must not let SQLite create files in a folder of another user. A header
 * that is still in the write-ahead log is not seen here; the threads refuse that file.
 *
 * @param history the folder with the history, whose files no process has open: the end of a read would release their locks
 * @throws {NewerVersion} if a newer release wrote one of them.
 */
export function refuseNewerHistory(history: string): void {
  refuseNewer(path.join(history, "audit.sqlite"), AUDIT_VERSION, "the entries of the audit");
  refuseNewer(usageFile(history), USAGE_VERSION, "the counts of runs");
  const days = newestDay(path.join(history, "runs"));
  if (days !== undefined) refuseNewer(days, SCHEMA_VERSION, "the records of runs");
}

function newestDay(folder: string): string | undefined {
  const names = namesIn(folder).filter((name) => /^\d{4}-\d\d-\d\d\.sqlite$/.test(name));
  const newest = names.toSorted().at(-1);
  return newest === undefined ? undefined : path.join(folder, newest);
}

/** @returns an empty list if the folder cannot be read: that costs records, and no start. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function refuseNewer(file: string, known: number, content: string): void {
  const header = headerOf(file);
  if (header.length < HEADER_BYTES || header.toString("latin1", 0, MAGIC.length) !== MAGIC) return;
  const version = header.readUInt32BE(USER_VERSION_AT);
  if (version > known) throw new NewerVersion(version, known).about(content, file);
}

/** @returns an empty buffer if the file cannot be read; what is wrong with it is reported when it is used. */
function headerOf(file: string): Buffer {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return Buffer.alloc(0);
  }
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    return header.subarray(0, readSync(descriptor, header, 0, HEADER_BYTES, 0));
  } catch {
    return Buffer.alloc(0);
  } finally {
    closeSync(descriptor);
  }
}
