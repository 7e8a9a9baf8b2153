import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { addAbortSignal } from "node:stream";
import { connect as connectTls } from "node:tls";

import type { EgressPolicy } from "../egress/policy.ts";
import { routeTo } from "../egress/route.ts";
import { FetchFault } from "./fetch-fault.ts";
import { portOf } from "./task-url.ts";
import { within } from "./within.ts";

export interface Dialled {
  readonly socket: Socket;
  /** All that the host resolved to, checked. */
  readonly addresses: readonly string[];
}

/**
 * Connects to the host of a URL, with TLS where it says https.
 *
 * @param connectMs for DNS, TCP and TLS together.
 * @param signal ends the connection, also when it is established.
 * @throws {FetchFault} or what the policy, DNS, TCP or TLS throws.
 */
export function dial(url: URL, policy: EgressPolicy, connectMs: number, signal: AbortSignal): Promise<Dialled> {
  const late = (): unknown =>
    new FetchFault("task_url_unreachable", `could not be connected to within ${connectMs} ms`);
  return within(connectMs, late, () => open(url, policy, connectMs, signal));
}

async function open(url: URL, policy: EgressPolicy, connectMs: number, signal: AbortSignal): Promise<Dialled> {
  const port = portOf(url);
  const name = url.hostname.replace(/^\[(.*)\]$|\.$/, "$1");
  const addresses = await policy.resolve(url.hostname, port);
  signal.throwIfAborted();
  const options = routeTo(addresses, port, connectMs);
  const secure = url.protocol === "https:";
  const socket = secure
    ? connectTls({
        ...options,
        servername: isIP(name) === 0 ? name : "",
        ALPNProtocols: ["http/1.1"],
        rejectUnauthorized: true,
      })
    : connect(options);
  // Once it is connected an error is the request's; between the two, one without a listener would end the process.
  socket.on("error", () => {});
  addAbortSignal(signal, socket);
  await once(socket, secure ? "secureConnect" : "connect");
  return { socket, addresses: addresses.map(({ address }) => address) };
}
