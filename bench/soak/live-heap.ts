import { once } from "node:events";

import type { Service } from "../../test/contract/service.ts";
import { until } from "../../test/contract/until.ts";

/** For the service's Node: where its inspector listens once it is asked for. */
export const INSPECTABLE = "--inspect-port=127.0.0.1:0";

/**
 * What a service's heap holds that is alive. Its size says little: V8 collects when there is need, and as long as there is
 * memory there is none.
 */
export class LiveHeap {
  readonly #socket: WebSocket;
  readonly #gone: Promise<never>;
  #asked = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#gone = once(socket, "close").then(() => {
      throw new Error("the service and its inspector are gone");
    });
    this.#gone.catch(() => {});
  }

  /** Has the service open its inspector (https://chromedevtools.github.io/devtools-protocol/v8/). */
  static async open(service: Service): Promise<LiveHeap> {
    process.kill(service.pid, "SIGUSR1");
    const find = (): string | undefined => /^Debugger listening on (ws:\S+)$/m.exec(service.stderr())?.[1];
    await until(() => find() !== undefined, "the inspector listens");
    const socket = new WebSocket(find()!);
    await once(socket, "open");
    return new LiveHeap(socket);
  }

  /** Collects, and says what is left: objects and buffers. Holds the service up for some tens of milliseconds. */
  async mib(): Promise<number> {
    await this.#ask("HeapProfiler.collectGarbage");
    const usage = (await this.#ask("Runtime.getHeapUsage")) as { usedSize: number; backingStorageSize: number };
    return (usage.usedSize + usage.backingStorageSize) / 2 ** 20;
  }

  close(): void {
    this.#socket.close();
  }

  async #ask(method: string): Promise<unknown> {
    const id = ++this.#asked;
    this.#socket.send(JSON.stringify({ id, method }));
    for (;;) {
      const [event] = (await Promise.race([once(this.#socket, "message"), this.#gone])) as [MessageEvent];
      const reply = JSON.parse(event.data as string) as { id?: number; result: unknown };
      if (reply.id === id) return reply.result;
    }
  }
}
