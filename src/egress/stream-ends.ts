import { isIPv6, Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { OpenedMessage } from "../wire/messages.ts";

/** Returns the addresses that the guest's socket shows. It hides the local address, which belongs to the host. */
export function endsOf(stream: Duplex): OpenedMessage {
  const socket = stream instanceof Socket ? stream : NOWHERE;
  const localAddress = isIPv6(socket.remoteAddress ?? "") ? "::" : "0.0.0.0";
  return {
    remoteAddress: socket.remoteAddress ?? "",
    remotePort: socket.remotePort ?? 0,
    remoteFamily: socket.remoteFamily ?? "",
    localAddress,
    localPort: socket.localPort ?? 0,
    localFamily: socket.remoteFamily ?? "",
  };
}

/** The ends of a stream within this process. */
const NOWHERE = { remoteAddress: "0.0.0.0", remotePort: 0, localPort: 0, remoteFamily: "IPv4" };
