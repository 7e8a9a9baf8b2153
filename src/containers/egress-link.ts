import type { GuestLink } from "../egress/gateway.ts";
import type { Flight } from "./flight.ts";
import type { Flights } from "./flights.ts";
import type { GuestLine } from "./guest-line.ts";

/** What the gateway of a guest may know of the guest, and do to it. */
export function egressLink(flights: Flights<Flight>, line: GuestLine, broken: (error: Error) => void): GuestLink {
  return {
    runs: {
      get size() {
        return flights.size;
      },
      get: (run) => flights.get(run)?.listener ?? null,
      any: () => flights.any,
    },
    get waitingBytes() {
      return line.waitingBytes;
    },
    push: (frame) => line.push(frame),
    break: broken,
  };
}
