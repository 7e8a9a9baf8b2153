import type { GuestLink } from "../../egress/gateway.ts";
import type { GuestConnection } from "./guest-connection.ts";
import type { RunsInFlight } from "./runs-in-flight.ts";

/** The part of a guest that its gateway may read and change. */
export function egressLink(
  inFlight: RunsInFlight,
  connection: GuestConnection,
  onProtocolError: (error: Error) => void,
): GuestLink {
  return {
    runs: {
      get size() {
        return inFlight.size;
      },
      get: (run) => inFlight.get(run)?.listener ?? null,
      familyOf: (run) => inFlight.get(run)?.family ?? inFlight.left.familyOf(run),
      any: () => inFlight.any,
    },
    get waitingBytes() {
      return connection.waitingBytes;
    },
    push: (frame) => connection.push(frame),
    break: onProtocolError,
  };
}
