/** A file of a backup, by its name in the data folder. */
export interface Part {
  /** The name, with `/` between folders: `limits/journal-3`. */
  readonly name: string;
  readonly bytes: number;
  /** Must be read to its end before the next part. */
  readonly content: AsyncIterable<Buffer>;
}

/** The first part: what made the backup, and which versions of the formats it has. */
export const ABOUT = "backup.json";
/** The last part: the SHA-256 of each other part, in the form of `sha256sum`. Without it the backup is not complete. */
export const CHECKSUMS = "SHA256SUMS";

/** Returns a part from text. */
export function partOf(name: string, text: string): Part {
  const content = Buffer.from(text);
  return { name, bytes: content.length, content: once(content) };
}

// oxlint-disable-next-line require-await -- the content of a part is asynchronous
async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}

/** The databases that `--redis` replaces, in the order in which they are copied. */
export const SHARED_DATABASES = ["tasks.sqlite", "tokens.sqlite", "policies.sqlite", "secrets.sqlite"] as const;

/** The database with the locks of inline code, and, without Redis, the packages that administrators have added. Each node has one. */
export const PACKAGES_DATABASE = "packages.sqlite";

const NAMES: ReadonlySet<string> = new Set([
  ABOUT,
  CHECKSUMS,
  "keys.json",
  "secrets.key",
  "admin.token",
  "audit.sqlite",
  "runs/usage.sqlite",
  ...SHARED_DATABASES,
  PACKAGES_DATABASE,
]);

/** Whether a backup may contain this name. Every other name in a file is refused, so none leads out of the folder. */
export function isPartName(name: string): boolean {
  return NAMES.has(name) || DAY.test(name) || /^limits\/(?:snapshot|journal)-[1-9]\d{0,14}$/.test(name);
}

const DAY = /^runs\/\d{4}-\d\d-\d\d\.sqlite$/;

/** Whether a part has the records of runs of a day. */
export function isDay(name: string): boolean {
  return DAY.test(name);
}
