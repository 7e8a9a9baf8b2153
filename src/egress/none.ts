import { egressCounts } from "../telemetry/egress-counts.ts";
import type { Egress } from "./gateway.ts";
import { egressPolicy } from "./policy.ts";

/** The egress of guests without network access: it refuses every request with an explanation. */
export const NO_EGRESS: Egress = {
  policy: egressPolicy({ mode: "none", allow: [] }),
  limits: { connections: 1, bytes: 0, timeMs: 1_000 },
  maxConnections: 1,
  counts: egressCounts(),
};
