import { randomUUID } from "node:crypto";

import { readUsage, type UsageFound } from "./usage-reader.ts";
import type { UsageQuery, UsageRow } from "./usage.ts";

export type ReadRequest = { readonly query: UsageQuery } | { readonly rest: string };

/** A part of what a read found. `rest` names the other rows, or is null if there are none. */
export type ReadReply = UsageFound & { readonly rest: string | null };

/** The rows of a message. The main thread copies a message in one turn of its event loop. */
const ROWS_AT_ONCE = 250;

/** Reads counts in parts, for the thread that reads. */
export class UsageReads {
  readonly #file: string;
  /** The rows that were found and not sent yet. A family has one read at a time. */
  readonly #rests: Map<string, readonly UsageRow[]> = new Map();

  constructor(file: string) {
    this.#file = file;
  }

  /** @throws the error of SQLite, or if the rest was in a thread that is lost. */
  fulfil(request: ReadRequest): ReadReply {
    if ("rest" in request) {
      const rows = this.#rests.get(request.rest);
      if (!rows) throw new Error("the rest of the read is lost");
      this.#rests.delete(request.rest);
      return this.#part(rows);
    }
    const found = readUsage(this.#file, request.query);
    return "rows" in found ? this.#part(found.rows) : { ...found, rest: null };
  }

  #part(rows: readonly UsageRow[]): ReadReply {
    if (rows.length <= ROWS_AT_ONCE) return { rows, rest: null };
    // Random, because a thread that was started again must not take it for the rest of another read.
    const rest = randomUUID();
    this.#rests.set(rest, rows.slice(ROWS_AT_ONCE));
    return { rows: rows.slice(0, ROWS_AT_ONCE), rest };
  }
}
