/**
 * A thread that asks a service for its health all the time, and tells how long the slowest answer took. The time for which the
 * thread of either side was ready to run and had no processor is not counted: other processes of the machine took it.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

/** The slowest answers to other callers, while something is done to a service. */
export class StallProbe implements AsyncDisposable {
  readonly #worker: Worker;

  /** @param pid of the service, whose first thread answers. */
  constructor(port: number, pid: number) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { port, pid } });
  }

  /** @returns in milliseconds, the longest that a caller waited meanwhile. */
  async during(action: () => Promise<void>): Promise<number> {
    await this.#take();
    await action();
    return await this.#take();
  }

  /** The longest since the last call, when the request that is under way has its answer. */
  async #take(): Promise<number> {
    this.#worker.postMessage(null, []);
    const [ms] = (await once(this.#worker, "message")) as [number];
    return ms;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

if (!isMainThread) {
  const { port, pid } = workerData as { port: number; pid: number };
  const threads = [`/proc/${pid}/task/${pid}`, "/proc/thread-self"];
  const outrunMs = (): number => threads.reduce((sum, thread) => sum + waitedMs(thread), 0);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let slowest = 0;
  let asked = false;
  parentPort!.on("message", () => (asked = true));
  const ask = (): void => {
    const earlierMs = outrunMs();
    const sentMs = performance.now();
    get({ port, path: "/healthz", agent }, (response) => {
      response.resume().on("end", () => {
        const tookMs = performance.now() - sentMs;
        slowest = Math.max(slowest, tookMs - (outrunMs() - earlierMs));
        if (asked) {
          parentPort!.postMessage(slowest, []);
          slowest = 0;
          asked = false;
        }
        setTimeout(ask, 1);
      });
    });
  };
  ask();
}

/** For how long a thread has waited for a processor, ready to run, by the kernel's count (CONFIG_SCHED_INFO). */
function waitedMs(thread: string): number {
  try {
    return Number(readFileSync(`${thread}/schedstat`, "latin1").split(" ")[1]) / 1e6;
  } catch {
    // This kernel does not count it: other processes make the answers slower.
    return 0;
  }
}
