import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";

import type { Config } from "../config.ts";

/** The runs that are served, as far as an end has to wait for them. */
export interface Served {
  /** Places that runs hold. */
  readonly taken: number;
  /** Takes no new ones. */
  drain(): void;
}

const DRAIN_MS = 30_000;
const DRAIN_STEP_MS = 20;
/** For those who are connected when the service is told to stop, and have not sent all of their request. */
const LAST_ORDERS_MS = 2_000;

/** @throws {Error} that says what to do where the port is taken. */
export async function listen(server: Server, { host, port }: Pick<Config, "host" | "port">): Promise<void> {
  try {
    server.listen(port, host);
    // Rejects when the server emits an error.
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    throw new Error(`port ${port} of ${host} is in use; give another with --port`, { cause: error });
  }
}

/** Where it listens, as a URL that this machine reaches it by. */
export function urlOf(server: Server, secure: boolean): string {
  const { address, port, family } = server.address() as AddressInfo;
  const everywhere = address === "0.0.0.0" || address === "::";
  const host = everywhere ? "127.0.0.1" : family === "IPv6" ? `[${address}]` : address;
  return `${secure ? "https" : "http"}://${host}:${port}`;
}

/**
 * Lets nobody in any more, serves those who are in, and waits until every answer has been read, not only made: a slow
 * client is in flight too. So is what a run gave to `waitUntil`, which holds its place.
 */
export async function drained(server: Server, containers: Served): Promise<void> {
  const closed = once(server, "close");
  const idle = Promise.withResolvers<void>();
  // The kernel resets what waits to be accepted when the listener is closed. Right after a look at it that is nothing.
  await setImmediate();
  await setImmediate();
  server.close();
  const sweep = setInterval(() => {
    // A connection that is kept alive is idle as soon as its answer has been read.
    server.closeIdleConnections();
    if (containers.taken === 0) idle.resolve();
  }, DRAIN_STEP_MS);
  // Whoever was let in has asked by then; one that never pauses would else keep the service from its end.
  const late = globalThis.setTimeout(() => containers.drain(), LAST_ORDERS_MS);
  await Promise.race([Promise.all([closed, idle.promise]), setTimeout(DRAIN_MS, undefined, { ref: false })]);
  clearTimeout(late);
  containers.drain();
  clearInterval(sweep);
}
