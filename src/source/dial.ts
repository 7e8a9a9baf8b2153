import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { addAbortSignal } from "node:stream";
import { connect as connectTls } from "node:tls";

import { EgressDenied } from "../egress/denied.ts";
import { type LocalPorts, PORTS_USED } from "../egress/local-ports.ts";
import type { EgressPolicy } from "../egress/policy.ts";
import type { Asker } from "../egress/resolve-names.ts";
import { routeTo } from "../egress/route.ts";
import { FetchFault } from "./fetch-fault.ts";
import { portOf } from "./task-url.ts";
import { within } from "./within.ts";

export interface DialResult {
  readonly socket: Socket;
  /** All addresses of the host; the policy checked them. */
  readonly addresses: readonly string[];
}

/** What limits a connection. `connectMs` is the time of DNS, TCP and TLS together. */
export interface DialLimits {
  readonly connectMs: number;
  readonly ports: LocalPorts;
}

/** The caller of a connection. */
export type DialAsker = Asker & { readonly signal: AbortSignal };

/**
 * Connects to the host of a URL, with TLS for `https:`.
 *
 * @param asker its signal closes the connection, also after it is established.
 * @throws {FetchFault} or the error of the policy, DNS, TCP or TLS.
 */
export function dial(url: URL, policy: EgressPolicy, limits: DialLimits, asker: DialAsker): Promise<DialResult> {
  const { connectMs } = limits;
  const late = (): unknown => new FetchFault("task_url_unreachable", `did not connect within ${connectMs} ms`);
  return within(connectMs, late, () => open(url, policy, limits, asker));
}

async function open(url: URL, policy: EgressPolicy, limits: DialLimits, asker: DialAsker): Promise<DialResult> {
  const { signal } = asker;
  const { connectMs, ports } = limits;
  const port = portOf(url);
  const name = url.hostname.replace(/^\[(.*)\]$|\.$/, "$1");
  const addresses = await policy.resolve(url.hostname, port, null, asker);
  signal.throwIfAborted();
  const hold = ports.take(asker.family, addresses, port);
  if (hold === null) throw new EgressDenied(url.hostname, "limit", PORTS_USED);
  const options = routeTo(hold.addresses, port, connectMs);
  const secure = url.protocol === "https:";
  const socket = secure
    ? connectTls({
        ...options,
        servername: isIP(name) === 0 ? name : "",
        ALPNProtocols: ["http/1.1"],
        rejectUnauthorized: true,
      })
    : connect(options);
  // The request handles errors after the connection. Until then, an error event without a listener would end the
  // process.
  socket.on("error", () => {});
  let isConnected = false;
  socket.once("connect", () => {
    isConnected = true;
    hold.connected(socket.remoteAddress);
  });
  socket.once("close", () => hold.release(isConnected && !socket.readableEnded));
  addAbortSignal(signal, socket);
  await once(socket, secure ? "secureConnect" : "connect");
  return { socket, addresses: addresses.map(({ address }) => address) };
}
