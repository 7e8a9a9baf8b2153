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
/** The part of a table that is read: some 350 listening sockets. One read returns less than a page. */
const TABLE_BYTES = 64 << 10;
const READ_BYTES = 4 << 10;
const HEADING = /^\s*sl\b/;
/** A line with the state 0A: number, local address, remote address, state. */
const LISTENING = /^\s*\d+: \S+ \S+ 0A /;

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
    for (const line of listeningIn(table)) {
      const [, local, , , queues] = line.trim().split(/\s+/, 5);
      if (local!.endsWith(ending)) waiting += Number.parseInt(queues!.split(":")[1] ?? "", 16) || 0;
    }
  }
  return waiting;
}

/** Returns the lines of the listening sockets, which come first. */
function listeningIn(table: string): string[] {
  const lines: string[] = [];
  try {
    const file = openSync(table, "r");
    try {
      const piece = Buffer.allocUnsafe(READ_BYTES);
      let rest = "";
      for (let left = TABLE_BYTES; left > 0; left -= READ_BYTES) {
        const bytes = readSync(file, piece, 0, READ_BYTES, null);
        if (bytes === 0) break;
        const read = (rest + piece.toString("latin1", 0, bytes)).split("\n");
        rest = read.pop()!;
        for (const line of read) {
          if (LISTENING.test(line)) lines.push(line);
          else if (!HEADING.test(line)) return lines;
        }
      }
    } finally {
      closeSync(file);
    }
  } catch {
    // The kernel does not show the table.
  }
  return lines;
}
