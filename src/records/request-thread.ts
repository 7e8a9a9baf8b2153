import { Worker } from "node:worker_threads";

/** A message to a thread that `RequestThread` starts. */
export interface ThreadRequest {
  readonly number: number;
  readonly service: string;
  readonly request: unknown;
}

/** The answer of the thread. It has a reply or a fault. */
export interface ThreadAnswer {
  readonly number: number;
  readonly reply?: unknown;
  readonly fault?: ThreadFault;
}

/** One of the services of a thread. */
export interface Channel<Request, Reply> {
  /** @throws {ThreadError} if the thread reports a fault, or is lost. */
  request(request: Request): Promise<Reply>;
}

export interface ThreadFault {
  readonly message: string;
  readonly code: string;
}

/** The error of a request that the thread could not fulfil. */
export class ThreadError extends Error {
  override readonly name = "ThreadError";
  /** A code of SQLite or of the system without a path, such as `ENOSPC`. */
  readonly code: string;

  constructor({ message, code }: ThreadFault) {
    super(message);
    this.code = code;
  }
}

/** The number of the message by which a thread reports that it has loaded its program. */
export const READY = 0;

/**
 * A thread that fulfils requests in their order. After it was lost, the next request starts it again: a lost thread costs its
 * pending requests, and never the service.
 */
export class RequestThread {
  readonly #program: string;
  readonly #data: unknown;
  readonly #pending: Map<number, PromiseWithResolvers<unknown>> = new Map();
  readonly #ready = Promise.withResolvers<void>();
  #thread: Worker | null;
  #requests = READY;

  /** @param data the `workerData` of the thread. */
  constructor(program: string, data: unknown) {
    this.#program = program;
    this.#data = data;
    this.#thread = this.#start();
  }

  /** Resolves when the program is loaded or lost. A service that gives up root may not read its program after it. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** @param service a name that the program of the thread serves. */
  channel<Request, Reply>(service: string): Channel<Request, Reply> {
    return { request: (request) => this.#request(service, request) as Promise<Reply> };
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #request(service: string, request: unknown): Promise<unknown> {
    const number = ++this.#requests;
    const answer = Promise.withResolvers<unknown>();
    const thread = (this.#thread ??= this.#start());
    this.#pending.set(number, answer);
    // The process must not end before the reply, but an idle thread does not keep it alive.
    thread.ref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    thread.postMessage({ number, service, request } satisfies ThreadRequest);
    return answer.promise;
  }

  #start(): Worker {
    const thread = new Worker(this.#program, { workerData: this.#data });
    const lost = (message: string): void => this.#lose(thread, { message, code: "THREAD_LOST" });
    thread.on("message", (answer: ThreadAnswer) => this.#settle(thread, answer));
    thread.on("error", (error) => lost(error instanceof Error ? error.message : String(error)));
    thread.on("exit", () => lost("the thread has ended"));
    return thread;
  }

  #settle(thread: Worker, { number, reply, fault }: ThreadAnswer): void {
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    if (this.#pending.size === 0) thread.unref();
    if (number === READY) return this.#ready.resolve();
    if (fault) pending?.reject(new ThreadError(fault));
    else pending?.resolve(reply);
  }

  #lose(thread: Worker, fault: ThreadFault): void {
    if (this.#thread !== thread) return;
    this.#thread = null;
    this.#ready.resolve();
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(new ThreadError(fault));
  }
}
