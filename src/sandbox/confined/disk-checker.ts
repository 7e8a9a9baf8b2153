import path from "node:path";
import { Worker } from "node:worker_threads";

import type { DiskUse } from "./disk.ts";
import type { GuestDisk } from "./removed.ts";

const PROGRAM = path.join(import.meta.dirname, `disk-check-thread${path.extname(import.meta.filename)}`);

/** The message to the thread. */
export interface DiskCheckRequest extends GuestDisk {
  /** Identifies the request. The reply has the same number. */
  readonly number: number;
  readonly limitBytes: number;
}

export interface TimedUse extends DiskUse {
  /** The processor time of the check. */
  readonly costMs: number;
}

/** The message from the thread. */
export interface DiskCheckReply extends TimedUse {
  readonly number: number;
}

/**
 * Checks the disk use of guests in a separate thread. A guest can make calls to the file system that it is using as slow as
 * it wants, and the main thread of the service must not wait for them.
 */
export class DiskChecker {
  readonly #thread: Worker = new Worker(PROGRAM);
  readonly #pending: Map<number, (use: TimedUse) => void> = new Map();
  #requests = 0;

  constructor() {
    // The thread does not keep the process alive. An error in the thread has no listener on purpose: it ends the process,
    // because without the thread nothing limits the disk.
    this.#thread.unref();
    this.#thread.on("message", ({ number, ...use }: DiskCheckReply) => {
      this.#pending.get(number)?.(use);
      this.#pending.delete(number);
    });
  }

  check(disk: GuestDisk, limitBytes: number): Promise<TimedUse> {
    const number = ++this.#requests;
    const { promise, resolve } = Promise.withResolvers<TimedUse>();
    this.#pending.set(number, resolve);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#thread.postMessage({ ...disk, number, limitBytes } satisfies DiskCheckRequest);
    return promise;
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}
