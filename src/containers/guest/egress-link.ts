import type { GuestLink } from "../../egress/gateway.ts";
import type { GuestConnection } from "./guest-connection.ts";
import type { GuestRun } from "./guest-run.ts";
import type { RunTable } from "./run-table.ts";

/** What the gateway of a guest may know of the guest, and do to it. */
export function egressLink(
  flights: RunTable<GuestRun>,
  line: GuestConnection,
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
      return line.waitingBytes;
    },
    push: (frame) => line.push(frame),
    break: broken,
  };
}
