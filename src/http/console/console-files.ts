import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** A file of the web console. */
export interface ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** The same, compressed. */
  readonly gzipped: Buffer;
}

/** The built console. */
export interface ConsoleFiles {
  /** The page, into which the service writes its settings. */
  readonly page: string;
  /** By the name below `console/`. A name contains the digest of the file. */
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};
/** The folders of the build, as seen from the built service and from the source. */
const PLACES = ["console", "../../../dist/console"];
const compress = promisify(gzip);

let read: Promise<ConsoleFiles | null> | null = null;

/** Returns the console, or null if it has not been built. Reads it at the first request. */
export function consoleFiles(): Promise<ConsoleFiles | null> {
  return (read ??= readConsole());
}

async function readConsole(): Promise<ConsoleFiles | null> {
  for (const place of PLACES) {
    const folder = path.join(import.meta.dirname, place);
    const page = await readFile(path.join(folder, "index.html"), "utf8").catch(() => null);
    if (page !== null) return { page, files: await readFiles(path.join(folder, "console")) };
  }
  return null;
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, ConsoleFile>> {
  const files = new Map<string, ConsoleFile>();
  for (const name of await readdir(folder)) {
    const bytes = await readFile(path.join(folder, name));
    files.set(name, { type: typeOf(name), bytes, gzipped: await compress(bytes) });
  }
  return files;
}

/** Returns the media type of a file of the console, by its ending. */
export function typeOf(name: string): string {
  return TYPES[path.extname(name)] ?? "application/octet-stream";
}
