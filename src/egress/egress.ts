import type { Duplex } from "node:stream";

import { type EgressCounts, egressCounts } from "../telemetry/egress-counts.ts";
import { ConnectionShares } from "./connection-shares.ts";
import type { EgressLimits } from "./egress-limits.ts";
import { LocalPorts } from "./local-ports.ts";
import { type EgressPolicy, egressPolicy } from "./policy.ts";

/** The network access that all guests share. */
export interface Egress {
  readonly policy: EgressPolicy;
  readonly limits: EgressLimits;
  readonly connections: ConnectionShares;
  readonly counts: EgressCounts;
  readonly ports: LocalPorts;
  /**
   * Returns a stream of this process for a name that only the guests of this egress have, or null for any other name. Only the egress
   * of builders has it.
   */
  readonly inside?: (host: string, port: number) => Duplex | null;
}

/** The egress of guests without network access: it refuses every request with an explanation. */
export const NO_EGRESS: Egress = {
  policy: egressPolicy({ mode: "none", allow: [] }),
  limits: { connections: 1, bytes: 0, timeMs: 1_000 },
  connections: new ConnectionShares(1),
  counts: egressCounts(),
  ports: new LocalPorts(),
};
