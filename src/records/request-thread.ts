import { getCompileCacheDir } from "node:module";
import path from "node:path";
import { Worker } from "node:worker_threads";

/** A message to a thread that `RequestThread` starts. */
export interface ThreadRequest {
  readonly service: string;
  readonly request: unknown;
}

/** The message of the thread when it has loaded its program. */
export const READY = "ready";

/** A message of the thread. Each request has one answer. */
export type ThreadAnswer = typeof READY | { readonly reply: unknown } | { readonly fault: ThreadFault };

/** One of the services of a thread. */
export interface Channel<Request, Reply> {
  /** @throws {ThreadError} if the thread reports a fault, or is lost. */
  request(request: Request): Promise<Reply>;
}

export interface ThreadFault {
  readonly message: string;
  readonly code: string;
}

/** The code of the error of a request that may be done or not, because its thread has ended. */
export const THREAD_LOST = "THREAD_LOST";

/** The error of a request that the thread could not fulfil. */
export class ThreadError extends Error {
  override readonly name = "ThreadError";
  /** The cause without a path, such as `ENOSPC` or `database or disk is full`. */
  readonly code: string;

  constructor({ message, code }: ThreadFault) {
    super(message);
    this.code = code;
  }
}

/** The most memory of a thread. A request that needs more costs the thread, and not the service. */
const HEAP_MB = 256;
/** The most memory of new objects. More would make collections rarer, which a thread in the background does not need. */
const NEW_OBJECTS_MB = 8;

export interface ThreadOptions {
  /** The `workerData` of the thread. */
  readonly data: unknown;
  /** The time that a request may take. The default waits for ever. */
  readonly mostMs?: number;
}

interface Job {
  readonly message: ThreadRequest;
  readonly answer: PromiseWithResolvers<unknown>;
}

/**
 * A thread that fulfils one request after the other: urgent requests first, and the others in their order. The next request
 * starts a lost thread again. A lost thread costs the request that it had, and never the service: the others wait here and
 * go to the next thread.
 */
export class RequestThread {
  /** Returns the file of its program. It is called at each start of the thread. */
  readonly #program: () => string;
  readonly #options: ThreadOptions;
  readonly #ready = Promise.withResolvers<void>();
  readonly #urgent: Job[] = [];
  readonly #waiting: Job[] = [];
  /** The request that the thread has. */
  #current: Job | null = null;
  #thread: Worker | null = null;
  #isLoaded = false;
  #timer: NodeJS.Timeout | undefined;
  /** Why no thread takes requests, or null. */
  #closed: ThreadFault | null = null;

  constructor(program: () => string, options: ThreadOptions) {
    this.#program = program;
    this.#options = options;
  }

  /** Starts the thread before its first request. Resolves when the program is loaded or lost. */
  load(): Promise<void> {
    if (!this.#thread && !this.#closed) this.#start();
    return this.#ready.promise;
  }

  /**
   * @param service a name that the program of the thread serves.
   * @param isUrgent whether its requests are done before those of other services.
   */
  channel<Request, Reply>(service: string, isUrgent: boolean = false): Channel<Request, Reply> {
    const jobs = isUrgent ? this.#urgent : this.#waiting;
    return { request: (request) => this.#request(jobs, { service, request }) as Promise<Reply> };
  }

  /** Ends the thread. Requests that are not done fail. */
  async close(): Promise<void> {
    this.#closed = { message: "the thread has ended", code: THREAD_LOST };
    await this.#thread?.terminate();
    this.#failAll(this.#closed);
  }

  #request(jobs: Job[], message: ThreadRequest): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>();
    jobs.push({ message, answer });
    this.#next();
    return answer.promise;
  }

  #next(): void {
    if (this.#closed) return this.#failAll(this.#closed);
    if (this.#current) return;
    this.#current = this.#urgent.shift() ?? this.#waiting.shift() ?? null;
    if (!this.#current) return this.#thread?.unref();
    const thread = this.#thread ?? this.#start();
    // `start` has failed all requests.
    if (!thread) return;
    // The process must not end before the reply, but an idle thread does not keep it alive.
    thread.ref();
    const { mostMs } = this.#options;
    if (mostMs !== undefined) this.#timer = setTimeout(() => this.#giveUp(thread), mostMs).unref();
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      thread.postMessage(this.#current.message);
    } catch (error) {
      // A value that cannot be copied.
      this.#takeCurrent()?.reject(error);
      this.#next();
    }
  }

  #start(): Worker | null {
    this.#isLoaded = false;
    try {
      const thread = new Worker(this.#program(), {
        workerData: this.#options.data,
        resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: NEW_OBJECTS_MB },
        env: { ...process.env, ...compileCache() },
      });
      thread.on("message", (answer: ThreadAnswer) => this.#receive(thread, answer));
      thread.on("error", (error) => this.#lose(thread, error instanceof Error ? error.message : String(error)));
      thread.on("exit", () => this.#lose(thread, "the thread has ended"));
      return (this.#thread = thread);
    } catch (error) {
      this.#ready.resolve();
      this.#failAll({ message: `the thread cannot be started: ${String(error)}`, code: THREAD_LOST });
      return null;
    }
  }

  #receive(thread: Worker, answer: ThreadAnswer): void {
    if (this.#thread !== thread || this.#closed) return;
    if (answer === READY) {
      this.#isLoaded = true;
      this.#ready.resolve();
      if (!this.#current) thread.unref();
      return;
    }
    const current = this.#takeCurrent();
    if ("fault" in answer) current?.reject(new ThreadError(answer.fault));
    else current?.resolve(answer.reply);
    this.#next();
  }

  #lose(thread: Worker, message: string): void {
    if (this.#thread !== thread) return;
    this.#thread = null;
    this.#ready.resolve();
    const fault = { message, code: THREAD_LOST };
    // A thread that waited for the disk has ended at last, and another one may work.
    if (this.#closed === GIVEN_UP) this.#closed = null;
    // Each of the others would start another thread that cannot load its program.
    if (!this.#isLoaded) return this.#failAll(fault);
    this.#takeCurrent()?.reject(new ThreadError(fault));
    this.#next();
  }

  /** Ends a thread that takes too long. Until it has ended no other one starts, so that they do not become many. */
  #giveUp(thread: Worker): void {
    this.#closed ??= GIVEN_UP;
    this.#failAll(this.#closed);
    void thread.terminate();
  }

  #takeCurrent(): PromiseWithResolvers<unknown> | undefined {
    clearTimeout(this.#timer);
    const answer = this.#current?.answer;
    this.#current = null;
    return answer;
  }

  #failAll(fault: ThreadFault): void {
    this.#takeCurrent()?.reject(new ThreadError(fault));
    for (const { answer } of [...this.#urgent.splice(0), ...this.#waiting.splice(0)]) {
      answer.reject(new ThreadError(fault));
    }
  }
}

const GIVEN_UP: ThreadFault = { message: "the disk does not answer", code: "the disk does not answer" };

/**
 * The cache of compiled modules, if the process has one. A thread that finds its program there does not load the program that
 * strips types, which takes 14 MiB.
 */
function compileCache(): NodeJS.ProcessEnv {
  const folder = getCompileCacheDir();
  // The folder of this version of Node is in it.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: path.dirname(folder) };
}
