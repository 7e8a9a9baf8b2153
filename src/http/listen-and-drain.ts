import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";

import type { Config } from "../config.ts";
import { LISTEN_REMEDIES } from "../config/groups/listening.ts";
import type { OpenConnections } from "./open-connections.ts";

/** The runs for which the service waits before it stops. */
export interface RunsInFlight {
  /** The number of slots that runs occupy. */
  readonly taken: number;
  /** Refuses new runs from now on. */
  drain(): void;
}

/**
 * The most connections that wait to be accepted; the kernel may lower it. A queue of Node's default, 511, is full after a burst of
 * one client, and a proxy in front would then answer 504 to others.
 */
export const BACKLOG: number = 4_096;
/** The longest time for all runs and answers to finish. */
const DRAIN_MS = 30_000;
/** The interval between two checks whether they have finished. */
const DRAIN_STEP_MS = 20;
/**
 * The time in which clients that are connected when the service begins to stop may still start runs, and the time that a
 * client has for its TLS handshake and the head of its request while the service stops. An honest client needs a fraction.
 */
const LAST_REQUESTS_MS = 2_000;

/** @throws {Error} if the port is in use; the message names the flag to change it */
export async function listen(server: Server, { host, port }: Pick<Config, "host" | "port">): Promise<void> {
  try {
    server.listen({ port, host, backlog: BACKLOG });
    // Rejects when the server emits an error.
    await once(server, "listening");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const remedy = LISTEN_REMEDIES[code];
    if (remedy !== undefined) {
      throw new Error(`port ${port} of ${host} cannot be used (${code}); ${remedy}`, { cause: error });
    }
    if (code !== "EADDRINUSE") throw error;
    throw new Error(`port ${port} of ${host} is in use; choose another port with --port`, { cause: error });
  }
}

/** Returns a URL at which this machine reaches the server. */
export function urlOf(server: Server, secure: boolean): string {
  const { address, port, family } = server.address() as AddressInfo;
  const everywhere = address === "0.0.0.0" || address === "::";
  const host = everywhere ? "127.0.0.1" : family === "IPv6" ? `[${address}]` : address;
  return `${secure ? "https" : "http"}://${host}:${port}`;
}

/** Returns the port on which the server listens; none if it does not listen, or listens on a socket. */
export function listeningPorts(server: Server): number[] {
  const address = server.address();
  return typeof address === "object" && address !== null ? [address.port] : [];
}

/**
 * Stops accepting connections, serves the clients that are connected, and waits until the clients have read all
 * answers. Connections without a request under way are ended at once, except those that a client has just opened. It also
 * waits for work that a run passed to `waitUntil`, because this work keeps its slot.
 */
export async function drained(
  server: Server,
  connections: Pick<OpenConnections, "endUnused">,
  containers: RunsInFlight,
): Promise<void> {
  const closed = once(server, "close");
  const idle = Promise.withResolvers<void>();
  // The kernel resets connections that wait to be accepted when the listener is closed. After two turns of the event
  // loop Node has just accepted all of them.
  await setImmediate();
  await setImmediate();
  server.close();
  const sweep = setInterval(() => {
    // A keep-alive connection is idle as soon as its client has read the answer.
    server.closeIdleConnections();
    connections.endUnused(LAST_REQUESTS_MS);
    if (containers.taken === 0) idle.resolve();
  }, DRAIN_STEP_MS);
  // Connected clients have sent their requests by then. A client that never pauses must not keep the service running.
  const lastRequests = globalThis.setTimeout(() => containers.drain(), LAST_REQUESTS_MS);
  await Promise.race([Promise.all([closed, idle.promise]), setTimeout(DRAIN_MS, undefined, { ref: false })]);
  clearTimeout(lastRequests);
  containers.drain();
  clearInterval(sweep);
}
