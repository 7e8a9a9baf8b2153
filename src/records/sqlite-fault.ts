/** Result codes of SQLite (https://sqlite.org/rescode.html). */
const ERROR = 1;
const BUSY = 5;
const LOCKED = 6;
const NO_MEMORY = 7;
const CORRUPT = 11;
const PROTOCOL = 15;
const TOO_BIG = 18;
const FORMAT = 24;
const NOT_A_DATABASE = 26;

/** Codes of a file that cannot be read as a database. */
const DAMAGED: ReadonlySet<number> = new Set([CORRUPT, FORMAT, NOT_A_DATABASE]);
/** Codes that say nothing about the file, so that a later try can succeed. */
const PASSING: ReadonlySet<number> = new Set([BUSY, LOCKED, NO_MEMORY, PROTOCOL]);

interface SqliteError {
  readonly errcode?: number;
  readonly errstr?: string;
  readonly code?: string;
}

/** A fault whose message clients may read. */
export class StoreFault extends Error {
  override readonly name = "StoreFault";
}

/** Returns whether the error means that the file is damaged. */
export function isDamage(error: unknown): boolean {
  return DAMAGED.has(codeOf(error));
}

/** Returns whether the error can mean that the file is the database of another program: a table or a column is missing. */
export function isForeign(error: unknown): boolean {
  return codeOf(error) === ERROR;
}

/** Returns whether the error passes without a change of the file. */
export function isPassing(error: unknown): boolean {
  return PASSING.has(codeOf(error));
}

/** Returns whether the error is about a single value, and not about the file. */
export function isAboutValue(error: unknown): boolean {
  return codeOf(error) === TOO_BIG || error instanceof TypeError || error instanceof RangeError;
}

/** Describes an error without a path of the host, because clients may read the description. */
export function reasonOf(error: unknown): string {
  if (error instanceof StoreFault) return error.message;
  const { errstr, code } = causeOf(error);
  return errstr ?? code ?? (error instanceof Error ? error.name : "unknown");
}

function codeOf(error: unknown): number {
  // The upper bytes extend the code with a detail.
  return (causeOf(error).errcode ?? -1) & 0xff;
}

/** `openDatabase` wraps the error of SQLite. */
function causeOf(error: unknown): SqliteError {
  const { cause } = error as { cause?: unknown };
  return ((cause as SqliteError | undefined)?.code === undefined ? error : cause) as SqliteError;
}
