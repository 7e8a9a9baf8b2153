import type { GuestLink } from "../../egress/gateway.ts";
import type { GuestConnection } from "./guest-connection.ts";
import type { GuestRun } from "./guest-run.ts";
import type { RunTable } from "./run-table.ts";

/** The part of a guest that its gateway may read and change. */
export function egressLink(
  inFlight: RunTable<GuestRun>,
  connection: GuestConnection,
  onProtocolError: (error: Error) => void,
): GuestLink {
  return {
    runs: {
      get size() {
        return inFlight.size;
      },
      get: (run) => inFlight.get(run)?.listener ?? null,
      familyOf: (run) => inFlight.get(run)?.family ?? "",
      any: () => inFlight.any,
    },
    get waitingBytes() {
      return connection.waitingBytes;
    },
    push: (frame) => connection.push(frame),
    break: onProtocolError,
  };
}
