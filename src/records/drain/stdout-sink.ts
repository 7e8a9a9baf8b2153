import { write } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

import type { DrainSink } from "./drain.ts";
import { withoutPath } from "./file-sink.ts";

const STDOUT = 1;
/** The pause after which a full pipe is tried again, in milliseconds. */
const FULL_PIPE_MS = 20;

/**
 * Writes lines to the standard output. `process.stdout` would stop the whole service while the reader of a pipe does not read,
 * so a thread of the system writes, one batch at a time.
 *
 * The service itself prints only its banner there, at its start. A line that begins with `{` is a record.
 */
export class StdoutSink implements DrainSink {
  async deliver(lines: Buffer, signal: AbortSignal): Promise<void> {
    for (let written = 0; written < lines.length;) {
      signal.throwIfAborted();
      try {
        written += await writeSome(lines, written);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw withoutPath(error);
        await pause(FULL_PIPE_MS);
      }
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function writeSome(bytes: Buffer, from: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  write(STDOUT, bytes, from, bytes.length - from, null, (error, written) => (error ? reject(error) : resolve(written)));
  return promise;
}
