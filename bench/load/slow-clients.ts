import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

import { until } from "../../test/contract/until.ts";

export interface SlowClientsOptions {
  readonly port: number;
  readonly token: string;
  readonly container: string;
  readonly addresses: number;
  /** The number of connections that send one request and then nothing. */
  readonly idle: number;
  /** The number of connections that send a head or a body, a byte each second. */
  readonly senders: number;
  /** The number of connections that request a large result and do not read it. */
  readonly readers: number;
}

/** How many connections the service has not yet closed, by kind. `started` is set when each client has done its first step. */
export interface OpenConnections {
  readonly started: boolean;
  readonly idle: number;
  readonly senders: number;
  readonly readers: number;
}

/** Clients that hold connections and do little. They live in a separate process. */
export class SlowClients implements AsyncDisposable {
  readonly #child: ChildProcess;
  #open: OpenConnections = { started: false, idle: 0, senders: 0, readers: 0 };

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", (open: OpenConnections) => (this.#open = open));
  }

  /** Opens all connections. */
  static async open(options: SlowClientsOptions): Promise<SlowClients> {
    const child = fork(new URL("slow-clients-process.ts", import.meta.url), [JSON.stringify(options)], {
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    const clients = new SlowClients(child);
    await until(() => clients.#open.started || child.exitCode !== null, "the slow clients are connected", 60_000);
    return clients;
  }

  get count(): number {
    const { idle, senders, readers } = this.#open;
    return idle + senders + readers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.disconnect();
    await once(this.#child, "exit");
  }
}
