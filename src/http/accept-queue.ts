import { closeSync, openSync, readSync } from "node:fs";
import type { Server } from "node:http";

import { listeningPorts } from "./listen-and-drain.ts";

/** The connections after which the queue is read again. */
const EVERY = 64;
/** A server that takes longer for these connections has no long queue. */
const FAST_MS = 250;
/** The waiting connections that make others wait for long: some 50 ms on a slow machine. */
const LONG = 256;
/** The tables of TCP sockets of this network namespace. The listening sockets come first. */
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** The part of a table that is read. A line has at most 180 bytes. */
const TABLE_BYTES = 32 << 10;
const LISTENING = "0A";

/** The connections to a server that the kernel has established and the server has not accepted. */
export class AcceptQueue {
  readonly #server: Server;
  readonly #waiting: (port: number) => number;
  readonly #now: () => number;
  #count = 0;
  #sinceMs = -Infinity;
  #isLong = false;

  /**
   * @param waiting returns the connections that wait at a port
   * @param now returns milliseconds
   */
  constructor(
    server: Server,
    waiting: (port: number) => number = waitingConnections,
    now: () => number = () => performance.now(),
  ) {
    this.#server = server;
    this.#waiting = waiting;
    this.#now = now;
  }

  /** Counts a connection that was accepted. @returns whether many others waited lately, so that new ones wait for long */
  accepted(): boolean {
    this.#count += 1;
    if (this.#count % EVERY === 0) {
      const now = this.#now();
      const [port] = listeningPorts(this.#server);
      this.#isLong = now - this.#sinceMs < FAST_MS && port !== undefined && this.#waiting(port) >= LONG;
      this.#sinceMs = now;
    }
    return this.#isLong;
  }
}

/**
 * Returns the connections that wait at a port of this machine to be accepted: for a listening socket, `rx_queue` is the length of
 * this queue (`Documentation/networking/proc_net_tcp.rst`, and `get_tcp4_sock` of the kernel). 0 if the kernel does not show it.
 */
export function waitingConnections(port: number): number {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  let waiting = 0;
  for (const table of TABLES) {
    for (const line of beginningOf(table).split("\n")) {
      const [, local, , state, queues] = line.trim().split(/\s+/, 5);
      if (state !== LISTENING || !local!.endsWith(ending)) continue;
      waiting += Number.parseInt(queues!.split(":")[1] ?? "", 16) || 0;
    }
  }
  return waiting;
}

function beginningOf(path: string): string {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.allocUnsafe(TABLE_BYTES);
      return bytes.toString("latin1", 0, readSync(file, bytes, 0, TABLE_BYTES, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}
