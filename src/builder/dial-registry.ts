import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { EgressPolicy } from "../egress/policy.ts";
import { routeTo } from "../egress/route.ts";

/** Connects to an origin at an address that the policy allows. @param connectMs the time limit of TCP and TLS. */
export async function dial(origin: URL, policy: EgressPolicy, connectMs: number): Promise<Socket> {
  const isSecure = origin.protocol === "https:";
  const port = Number(origin.port || (isSecure ? 443 : 80));
  const name = origin.hostname.replace(/^\[(.*)\]$|\.$/, "$1");
  const addresses = await policy.resolve(origin.hostname, port);
  const options = routeTo(addresses, port, connectMs);
  const servername = isIP(name) === 0 ? name : "";
  const socket = isSecure ? connectTls({ ...options, servername, ALPNProtocols: ["http/1.1"] }) : connect(options);
  // The request handles errors after the connection. Without a listener, an error in between would end the process.
  socket.on("error", () => {});
  const timer = setTimeout(() => socket.destroy(Object.assign(new Error("late"), { code: "ETIMEDOUT" })), connectMs);
  try {
    await once(socket, isSecure ? "secureConnect" : "connect");
    return socket;
  } finally {
    clearTimeout(timer);
  }
}
