/** A thread that asks a service for its health all the time, and tells how long the slowest answer took. */
import { once } from "node:events";
import { Agent, get } from "node:http";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

/** The slowest answers to other callers, while something is done to a service. */
export class StallProbe implements AsyncDisposable {
  readonly #worker: Worker;

  constructor(port: number) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: port });
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
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let slowest = 0;
  let asked = false;
  parentPort!.on("message", () => (asked = true));
  const ask = (): void => {
    const sentMs = performance.now();
    get({ port: workerData as number, path: "/healthz", agent }, (response) => {
      response.resume().on("end", () => {
        slowest = Math.max(slowest, performance.now() - sentMs);
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
