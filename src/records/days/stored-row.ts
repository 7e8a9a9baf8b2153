import { isFailure } from "../failure-cause.ts";
import { type ConsoleLine, entryOf, type KeptRun, type RunEntry, type RunRecord, type RunStatus } from "../record.ts";

/** The bytes that a record takes in addition to its JSON, in the file with its indexes and in the queue. */
const ROW_BYTES = 256;
/** The bytes of the JSON of an empty record, at the least. */
const LEAST_ENTRY_BYTES = 512;

/**
 * A record as it is written. A tuple, because copying it to the thread takes a third of the time of an object with
 * names.
 */
export type StoredRow = readonly [
  startedMs: number,
  run: string,
  container: string,
  task: string | null,
  status: RunStatus,
  failed: 0 | 1,
  lineage: string,
  /** The JSON of the entry in lists. */
  entry: string,
  /** The JSON of the members that an entry lacks; null if they are empty. */
  detail: string | null,
  family: string,
  bytes: number,
  /** Whether the client had no token. */
  isPublic: 0 | 1,
];

/** The indexes of the family and of the bytes in a row. */
export const ROW_FAMILY = 9;
export const ROW_SIZE = 10;

interface Detail {
  readonly console: readonly ConsoleLine[];
  readonly stack: string | null;
  readonly frame: string | null;
  readonly input?: string | undefined;
}

/** Returns the row of a record. This is all that the thread of the service does for it, so it is kept cheap. */
export function rowOf({ record, family, network, lineage, startedMs }: KeptRun): StoredRow {
  const { run, container, task, status } = record;
  const entry = JSON.stringify(entryOf(record));
  const detail = detailOf(record);
  const bytes = Buffer.byteLength(entry) + (detail === null ? 0 : Buffer.byteLength(detail)) + ROW_BYTES;
  const failed = isFailure(status) ? 1 : 0;
  const isPublic = network === null ? 0 : 1;
  const names = JSON.stringify(lineage);
  return [startedMs, run, container, task, status, failed, names, entry, detail, family, bytes, isPublic];
}

/** Returns a lower bound of the bytes of the row, without making it: a flood must not cost the time of its JSON. */
export function leastBytesOf({ console, error, input }: RunRecord): number {
  let bytes = ROW_BYTES + LEAST_ENTRY_BYTES + (input?.length ?? 0);
  for (const { text } of console) bytes += text.length;
  if (error) for (const text of [error.name, error.message, error.hint, error.stack]) bytes += text?.length ?? 0;
  return bytes;
}

/** Returns the record of a row. */
export function recordOf(entry: RunEntry, detail: string | null): RunRecord {
  const { console, stack, frame, input } = parseDetail(detail);
  const error = entry.error && { ...entry.error, stack, at: entry.error.at && { ...entry.error.at, frame } };
  return { ...entry, console, error, ...(input === undefined ? {} : { input }) };
}

export function parseDetail(detail: string | null): Detail {
  return detail === null ? { console: [], stack: null, frame: null } : (JSON.parse(detail) as Detail);
}

function detailOf({ console, error, input }: RunRecord): string | null {
  const stack = error?.stack ?? null;
  const frame = error?.at?.frame ?? null;
  if (console.length === 0 && stack === null && frame === null && input === undefined) return null;
  return JSON.stringify({ console, stack, frame, input } satisfies Detail);
}
