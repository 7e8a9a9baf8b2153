import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";

import { UsageRead } from "./usage-reader.ts";
import type { UsageAnswer, UsageQuery } from "./usage.ts";

export type ReadRequest = { readonly query: UsageQuery } | { readonly rest: string };

/** A part of what a read found. `rest` names what is left to read or to send, or is null if there is nothing. */
export interface ReadReply extends UsageAnswer {
  readonly rest: string | null;
}

/** The rows of a message. The main thread copies a message in one turn of its event loop. */
const ROWS_AT_ONCE = 250;
const NOTHING: ReadReply = { rows: [], isTruncated: false, rest: null };

/**
 * Reads counts for the thread that reads. Each request is one step of a read, so that a read of many rows waits for the steps
 * of other reads, and they never wait for all of it.
 */
export class UsageReads {
  readonly #file: string;
  /** The reads that have begun, and what was found and not sent yet. A family has one read at a time. */
  readonly #rests: Map<string, UsageRead | UsageAnswer> = new Map();

  constructor(file: string) {
    this.#file = file;
  }

  /** @throws the error of SQLite, or if the rest was in a thread that is lost. */
  fulfil(request: ReadRequest): ReadReply {
    if ("query" in request) {
      return existsSync(this.#file) ? this.#step(new UsageRead(this.#file, request.query)) : NOTHING;
    }
    const rest = this.#rests.get(request.rest);
    if (!rest) throw new Error("the rest of the read is lost");
    this.#rests.delete(request.rest);
    return rest instanceof UsageRead ? this.#step(rest) : this.#part(rest);
  }

  #step(read: UsageRead): ReadReply {
    let isContinued = false;
    try {
      isContinued = !read.step();
      return isContinued ? { ...NOTHING, rest: this.#keep(read) } : this.#part(read.answer());
    } finally {
      if (!isContinued) read.close();
    }
  }

  #part({ rows, isTruncated }: UsageAnswer): ReadReply {
    if (rows.length <= ROWS_AT_ONCE) return { rows, isTruncated, rest: null };
    const rest = this.#keep({ rows: rows.slice(ROWS_AT_ONCE), isTruncated });
    return { rows: rows.slice(0, ROWS_AT_ONCE), isTruncated, rest };
  }

  #keep(rest: UsageRead | UsageAnswer): string {
    // Random, because a thread that was started again must not take it for the rest of another read.
    const name = randomUUID();
    this.#rests.set(name, rest);
    return name;
  }
}
