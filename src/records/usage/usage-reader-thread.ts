import { workerData } from "node:worker_threads";

import { serveRequests } from "../serve-requests.ts";
import { readUsage, type UsageFound } from "./usage-reader.ts";
import type { UsageQuery, UsageRow } from "./usage.ts";

export type ReadRequest = { readonly query: UsageQuery } | { readonly rest: number };

/** A part of what a read found. `rest` names the other rows, if there are any. */
export type ReadReply = UsageFound & { readonly rest: number | null };

/** The rows of a message. The main thread copies a message in one turn of its event loop. */
const ROWS_AT_ONCE = 250;

const { file } = workerData as { file: string };
/** The rows that were found and not sent yet. A family has one read at a time. */
const rests = new Map<number, readonly UsageRow[]>();
let reads = 0;

serveRequests((request: ReadRequest): ReadReply => {
  if ("rest" in request) {
    const rows = rests.get(request.rest) ?? [];
    rests.delete(request.rest);
    return part(rows);
  }
  const found = readUsage(file, request.query);
  return "rows" in found ? part(found.rows) : { ...found, rest: null };
});

function part(rows: readonly UsageRow[]): ReadReply {
  if (rows.length <= ROWS_AT_ONCE) return { rows, rest: null };
  const rest = ++reads;
  rests.set(rest, rows.slice(ROWS_AT_ONCE));
  return { rows: rows.slice(0, ROWS_AT_ONCE), rest };
}
