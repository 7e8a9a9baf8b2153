import { closeSync, openSync, readSync } from "node:fs";
import type { Server } from "node:http";

import { listeningPorts } from "./listen-and-drain.ts";

/** The queue is read again after so many connections, */
const MOST_BETWEEN = 64;
/** and after this time if a few were accepted: a server that is busy with handshakes accepts few. */
const EVERY_MS = 20;
const LEAST_BETWEEN = 8;
/** The wait for the connections in the queue, at the pace of the latest ones, from which on it is long. */
const LONG_MS = 50;
/** Fewer connections are no long queue, whatever their pace. */
const LONG = 32;
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
  #sinceMs: number;
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
    this.#sinceMs = now();
  }

  /** Counts a connection that was accepted. @returns whether others waited lately for long, and new ones will */
  accepted(): boolean {
    this.#count += 1;
    if (this.#count < LEAST_BETWEEN) return this.#isLong;
    const elapsedMs = this.#now() - this.#sinceMs;
    if (this.#count < MOST_BETWEEN && elapsedMs < EVERY_MS) return this.#isLong;
    const [port] = listeningPorts(this.#server);
    const waiting = port === undefined ? 0 : this.#waiting(port);
    this.#isLong = waiting >= LONG && (waiting * elapsedMs) / this.#count > LONG_MS;
    this.#count = 0;
    this.#sinceMs += elapsedMs;
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
