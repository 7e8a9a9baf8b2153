import type { Socket } from "node:net";

import type { GuestLink } from "../egress/gateway.ts";
import type { Outbox } from "../wire/frames.ts";
import type { Flight } from "./flight.ts";
import type { Flights } from "./flights.ts";

/** What the gateway of a guest may know of the guest, and do to it. */
export function egressLink(
  flights: Flights<Flight>,
  outbox: Outbox,
  socket: Socket,
  broken: (error: Error) => void,
): GuestLink {
  return {
    runs: {
      get size() {
        return flights.size;
      },
      get: (run) => flights.get(run)?.listener ?? null,
      any: () => flights.any,
    },
    get waitingBytes() {
      return outbox.waitingBytes + socket.writableLength;
    },
    push: (frame) => outbox.push(frame),
    break: broken,
  };
}
