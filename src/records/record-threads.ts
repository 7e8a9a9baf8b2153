import { randomUUID } from "node:crypto";

import { threadProgram } from "../thread-programs.ts";
import { type Channel, RequestThread } from "./request-thread.ts";

/** The time after which a read is given up. Each read ends long before, unless the disk does not answer. */
const READ_MS = 15_000;

/** The `workerData` of both threads. */
export interface RecordThreadData {
  /** The data folder. */
  readonly folder: string;
  /** A random name of this process. A thread that is started again has the same name. */
  readonly process: string;
}

/**
 * The threads that write and read what runs and changes leave behind. A thread takes 11 to 25 MiB of memory, so all files share
 * a thread that writes and a thread that reads. They open a file at the first request about it, when a service that root
 * started has given up root.
 */
export class RecordThreads {
  readonly #writer: RequestThread;
  readonly #reader: RequestThread;

  /** @param folder the data folder. */
  constructor(folder: string) {
    const data: RecordThreadData = { folder, process: randomUUID() };
    // Without a bound: a writer that waits for a slow disk must not begin again.
    this.#writer = new RequestThread(() => threadProgram(import.meta.dirname, "writer-thread"), { data });
    this.#reader = new RequestThread(() => threadProgram(import.meta.dirname, "reader-thread"), {
      data,
      mostMs: READ_MS,
    });
  }

  /** Starts the threads before their first requests, for a service that cannot read their programs later. */
  async load(): Promise<void> {
    await Promise.all([this.#writer.load(), this.#reader.load()]);
  }

  /**
   * @param service a name that `writer-thread.ts` serves.
   * @param isUrgent whether its requests are done before those of other services.
   */
  writer<Request, Reply>(service: string, isUrgent: boolean = false): Channel<Request, Reply> {
    return this.#writer.channel(service, isUrgent);
  }

  /** @param service a name that `reader-thread.ts` serves. */
  reader<Request, Reply>(service: string): Channel<Request, Reply> {
    return this.#reader.channel(service);
  }

  /** Ends the threads. Each file must be closed before. */
  async close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#reader.close()]);
  }
}
