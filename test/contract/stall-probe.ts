/**
 * Measures how long a service makes a caller of another network wait. A thread requests the health of the service without pause,
 * and reports the slowest answer. The time in which the thread of either side was ready to run and had no processor
 * is not counted, because other processes of the machine used it.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

/** Measures the slowest answers to other callers during an action. */
export class StallProbe implements AsyncDisposable {
  readonly #worker: Worker;

  /** @param pid is the process id of the service, whose first thread answers. */
  constructor(port: number, pid: number) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { port, pid } });
  }

  /** @returns the milliseconds that a caller waited at most during the action */
  async during(action: () => Promise<void>): Promise<number> {
    await this.#take();
    await action();
    return await this.#take();
  }

  /** Returns the longest wait since the last call, after the request under way has its answer. */
  async #take(): Promise<number> {
    this.#worker.postMessage(null, []);
    const [ms] = (await once(this.#worker, "message")) as [number];
    return ms;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

/** The requests of the tests come from 127.0.0.1. A client of another network takes turns with them. */
const OTHER_NETWORK = "127.0.0.2";

if (!isMainThread) {
  const { port, pid } = workerData as { port: number; pid: number };
  const threads = [`/proc/${pid}/task/${pid}`, "/proc/thread-self"];
  const readyMs = (): number => threads.reduce((sum, thread) => sum + waitedMs(thread), 0);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let slowest = 0;
  let asked = false;
  parentPort!.on("message", () => (asked = true));
  const ask = (): void => {
    const earlierMs = readyMs();
    const sentMs = performance.now();
    get({ port, path: "/healthz", agent, localAddress: OTHER_NETWORK }, (response) => {
      response.resume().on("end", () => {
        const tookMs = performance.now() - sentMs;
        slowest = Math.max(slowest, tookMs - (readyMs() - earlierMs));
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

/**
 * Returns the milliseconds that a thread has waited for a processor, ready to run, as counted by the kernel
 * (CONFIG_SCHED_INFO).
 */
function waitedMs(thread: string): number {
  try {
    return Number(readFileSync(`${thread}/schedstat`, "latin1").split(" ")[1]) / 1e6;
  } catch {
    // This kernel does not count it, so other processes make the answers slower.
    return 0;
  }
}
