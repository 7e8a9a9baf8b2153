import type { GuestLink } from "../../egress/gateway.ts";
import type { GuestConnection } from "./guest-connection.ts";
import type { GuestRun } from "./guest-run.ts";
import type { PastRuns } from "./run-log.ts";
import type { RunTable } from "./run-table.ts";

/** The part of a guest that its gateway may read and change. @param ownerFamily returns the token family that the guest counts for */
export function egressLink(
  inFlight: RunTable<GuestRun> & { readonly past: PastRuns },
  connection: GuestConnection,
  ownerFamily: () => string,
  onProtocolError: (error: Error) => void,
): GuestLink {
  return {
    runs: {
      get size() {
        return inFlight.size;
      },
      get: (run) => inFlight.get(run)?.listener ?? null,
      had: (run) => inFlight.had(run),
      familyOf: (run) => inFlight.get(run)?.family ?? inFlight.past.familyOf(run),
      get ownerFamily() {
        return ownerFamily();
      },
    },
    get waitingBytes() {
      return connection.waitingBytes;
    },
    push: (frame) => connection.push(frame),
    break: onProtocolError,
  };
}
