import path from "node:path";
import { Worker } from "node:worker_threads";

import type { DiskUse } from "./disk.ts";
import type { HeldBy } from "./removed.ts";

const PROGRAM = path.join(import.meta.dirname, `look-thread${path.extname(import.meta.filename)}`);

/** What the thread is asked. */
export interface LookRequest extends HeldBy {
  readonly number: number;
  readonly limitBytes: number;
}

export interface TimedUse extends DiskUse {
  /** Processor time that the look took. */
  readonly costMs: number;
}

/** What the thread answers. */
export interface LookReply extends TimedUse {
  readonly number: number;
}

/**
 * Looks at what guests keep on the disk, in a thread of its own: calls to a file system that a guest is busy with take as
 * long as that guest wants, and the thread of the service has others to answer.
 */
export class Looker {
  readonly #thread: Worker = new Worker(PROGRAM);
  readonly #waiting: Map<number, (use: TimedUse) => void> = new Map();
  #asked = 0;

  constructor() {
    // It keeps no process alive. An error in it has no listener, and so ends the process: without it nothing bounds the disk.
    this.#thread.unref();
    this.#thread.on("message", ({ number, ...use }: LookReply) => {
      this.#waiting.get(number)?.(use);
      this.#waiting.delete(number);
    });
  }

  look(held: HeldBy, limitBytes: number): Promise<TimedUse> {
    const number = ++this.#asked;
    const { promise, resolve } = Promise.withResolvers<TimedUse>();
    this.#waiting.set(number, resolve);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#thread.postMessage({ ...held, number, limitBytes } satisfies LookRequest);
    return promise;
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}
