import { egressCounts } from "../telemetry/egress-counts.ts";
import type { Egress } from "./gateway.ts";
import { egressPolicy } from "./policy.ts";

/** The way out of guests that have none: whatever they ask for is refused in words. */
export const NO_EGRESS: Egress = {
  policy: egressPolicy({ mode: "none", allow: [] }),
  limits: { connections: 1, bytes: 0, timeMs: 1_000 },
  maxConnections: 1,
  counts: egressCounts(),
};
