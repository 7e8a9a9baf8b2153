import { setAside } from "../set-aside.ts";
import { isDamage } from "../sqlite-fault.ts";
import type { CellBatch } from "./cell.ts";
import { tidy, tidyBounds } from "./tidy.ts";
import { type BatchNumber, UsageFile } from "./usage-file.ts";

export type WriteRequest =
  | { readonly kind: "write"; readonly batch: CellBatch; readonly number: number; readonly nowMs: number }
  /** Opens the file, so that runs of an earlier process become `interrupted`. */
  | { readonly kind: "open"; readonly nowMs: number }
  /** `rows`: the hours of a family that are kept, and the minutes of all families. */
  | { readonly kind: "tidy"; readonly nowMs: number; readonly rows: number }
  | { readonly kind: "close" };

export interface WriteReply {
  /** The new name of a damaged file, or null. */
  readonly setAside: string | null;
  /** Whether another step of tidying has work to do. */
  readonly more: boolean;
}

/** The writer of the counts, for its thread. After an error it opens the file again at the next request. */
export class UsageWriter {
  readonly #path: string;
  readonly #process: string;
  #file: UsageFile | null = null;

  constructor(path: string, process: BatchNumber["process"]) {
    this.#path = path;
    this.#process = process;
  }

  /** @throws the error of SQLite or of the system; then nothing was changed. */
  fulfil(request: WriteRequest): WriteReply {
    try {
      return { setAside: null, more: this.#fulfil(request) };
    } catch (error) {
      this.#closeQuietly();
      if (!isDamage(error) || request.kind === "close") throw error;
      const name = setAside(this.#path);
      return { setAside: name, more: this.#fulfil(request) };
    }
  }

  #fulfil(request: WriteRequest): boolean {
    if (request.kind === "close") {
      this.#file?.close();
      this.#file = null;
      return false;
    }
    this.#file ??= UsageFile.open(this.#path, this.#process, request.nowMs);
    if (request.kind === "write") this.#file.add(request.batch, { process: this.#process, number: request.number });
    return request.kind === "tidy" && tidy(this.#file, request.nowMs, tidyBounds(request.rows));
  }

  #closeQuietly(): void {
    try {
      this.#file?.close();
    } catch {
      // The error of the request is reported.
    }
    this.#file = null;
  }
}
