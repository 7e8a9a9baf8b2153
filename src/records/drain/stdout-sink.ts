import { createWriteStream, fstatSync } from "node:fs";
import type { Writable } from "node:stream";

import type { DrainSink } from "./drain.ts";
import { withoutPath } from "./file-sink.ts";

const STDOUT = 1;

/**
 * Writes lines to the standard output. The service itself prints only its banner there, at its start. Each line that begins
 * with `{` is a record.
 *
 * `process.stdout` does not wait for the reader of a pipe. For a file or a terminal it would stop the whole service until
 * the write is done, so a separate stream writes there.
 */
export class StdoutSink implements DrainSink {
  readonly #stream: Writable;

  constructor() {
    const found = fstatSync(STDOUT);
    const isPipe = found.isFIFO() || found.isSocket();
    this.#stream = isPipe ? process.stdout : createWriteStream("", { fd: STDOUT, autoClose: false });
    // `deliver` reports the error. Without a listener, a closed pipe would end the service.
    this.#stream.on("error", () => {});
  }

  deliver(lines: Buffer): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#stream.write(lines, (error) => (error ? reject(withoutPath(error)) : resolve()));
    return promise;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
