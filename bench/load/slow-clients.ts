import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

/** The kinds of clients: what each sends after it has connected. */
export type Kind = "idle" | "senders" | "readers";

export interface SlowClientsOptions {
  readonly port: number;
  readonly token: string;
  /** The containers whose results are not read. */
  readonly containers: number;
  /** The number of connections that send one request and then nothing. */
  readonly idle: number;
  /** The number of connections that send a head or a body, a byte each second. */
  readonly senders: number;
  /** The number of connections that request a large result and do not read it. */
  readonly readers: number;
}

/** The part of a client's address that differs by kind: 127.0.KIND.2 and so on. */
export const NETWORKS: Readonly<Record<Kind, number>> = { idle: 1, senders: 2, readers: 3 };

/** `TCP_ESTABLISHED` in /proc/net/tcp (proc_net_tcp(5)). */
const ESTABLISHED = "01";
const STEP_MS = 100;
/** The maximum time in which the results of clients that do not read them are made. */
const RESULTS_MS = 60_000;

/** Clients that hold connections and do little. They live in a separate process. */
export class SlowClients implements AsyncDisposable {
  readonly #child: ChildProcess;
  /** The end of the service's address in /proc/net/tcp. */
  readonly #portText: string;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#portText = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  }

  /** Opens all connections. */
  static async open(options: SlowClientsOptions): Promise<SlowClients> {
    const child = fork(new URL("slow-clients-process.ts", import.meta.url), [JSON.stringify(options)], {
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    const ended = once(child, "exit").then(() =>
      Promise.reject(new Error("the process of the slow clients has ended")),
    );
    ended.catch(() => {});
    await Promise.race([once(child, "message"), ended]);
    return new SlowClients(child, options.port);
  }

  /**
   * Returns how many connections the service still holds. The kernel reports this, because a client that does not read also
   * does not notice that its connection was closed.
   */
  async count(): Promise<Readonly<Record<Kind, number>>> {
    const clients = (await connections()).filter(({ local }) => local.endsWith(this.#portText));
    const countOf = (kind: Kind): number => clients.filter(({ remote }) => isOf(kind, remote)).length;
    return { idle: countOf("idle"), senders: countOf("senders"), readers: countOf("readers") };
  }

  /** Waits until each client that does not read has bytes of its result in the kernel. @throws {Error} after a minute */
  async resultsWait(): Promise<void> {
    for (const endMs = performance.now() + RESULTS_MS; performance.now() < endMs; await setTimeout(STEP_MS)) {
      const readers = (await connections()).filter(
        ({ local, remote }) => isOf("readers", local) && remote.endsWith(this.#portText),
      );
      if (readers.every(({ unreadBytes }) => unreadBytes > 0)) return;
    }
    throw new Error("not all results for clients that do not read have begun within a minute");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.disconnect();
    await once(this.#child, "exit");
  }
}

interface Connection {
  readonly local: string;
  readonly remote: string;
  readonly unreadBytes: number;
}

/** Returns the established connections of this machine. */
async function connections(): Promise<Connection[]> {
  const lines = (await readFile("/proc/net/tcp", "latin1")).split("\n").map((line) => line.trim().split(/\s+/));
  return lines
    .filter(([, , , state]) => state === ESTABLISHED)
    .map(([, local, remote, , queues]) => ({
      local: local!,
      remote: remote!,
      unreadBytes: Number.parseInt(queues!.split(":")[1]!, 16),
    }));
}

/** An address is a number in the byte order of the machine: 127.0.3.2 is 0203007F. */
function isOf(kind: Kind, address: string): boolean {
  return Number.parseInt(address.slice(2, 4), 16) === NETWORKS[kind];
}
