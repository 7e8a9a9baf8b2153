import { once } from "node:events";

import type { Service } from "../../test/contract/service.ts";
import { until } from "../../test/contract/until.ts";

/** An option for the service's Node: the address of its inspector, which a signal opens. */
export const INSPECTABLE = "--inspect-port=127.0.0.1:0";

/**
 * Measures the live objects in a service's heap. The size of the heap shows little, because V8 does not collect garbage
 * while there is enough memory.
 */
export class LiveHeap {
  readonly #socket: WebSocket;
  readonly #gone: Promise<never>;
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#gone = once(socket, "close").then(() => {
      throw new Error("the service and its inspector have ended");
    });
    this.#gone.catch(() => {});
  }

  /** Opens the service's inspector by a signal (https://chromedevtools.github.io/devtools-protocol/v8/). */
  static async open(service: Service): Promise<LiveHeap> {
    process.kill(service.pid, "SIGUSR1");
    const find = (): string | undefined => /^Debugger listening on (ws:\S+)$/m.exec(service.stderr())?.[1];
    await until(() => find() !== undefined, "the inspector listens");
    const socket = new WebSocket(find()!);
    await once(socket, "open");
    return new LiveHeap(socket);
  }

  /** Collects garbage, and returns the size of live objects and buffers. This blocks the service for tens of milliseconds. */
  async mib(): Promise<number> {
    await this.#send("HeapProfiler.collectGarbage");
    const usage = (await this.#send("Runtime.getHeapUsage")) as { usedSize: number; backingStorageSize: number };
    return (usage.usedSize + usage.backingStorageSize) / 2 ** 20;
  }

  close(): void {
    this.#socket.close();
  }

  async #send(method: string): Promise<unknown> {
    const id = ++this.#lastId;
    this.#socket.send(JSON.stringify({ id, method }));
    for (;;) {
      const [event] = (await Promise.race([once(this.#socket, "message"), this.#gone])) as [MessageEvent];
      const reply = JSON.parse(event.data as string) as { id?: number; result: unknown };
      if (reply.id === id) return reply.result;
    }
  }
}
