import { isIPv6 } from "node:net";

import type { Config } from "../config.ts";
import { EgressDenied, egressPolicy } from "../egress/policy.ts";
import type { Finding } from "./finding.ts";

/** Loopback, a private network, the metadata of a cloud, and such an address wrapped in IPv6. */
const PRIVATE = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1"];

/** Where tasks and task_url may lead, in words, after the policy was asked about places that it must refuse. */
export async function examineEgress({ egress, egressAllow, egressPorts }: Config): Promise<Finding> {
  const policy = egressPolicy({ mode: egress, allow: egressAllow, ports: egressPorts });
  const named = new Set(egressAllow.map(({ host }) => host));
  const asked = PRIVATE.filter((address) => !named.has(address));
  // At no port in particular: refused for that, an address would not be looked at.
  const isDenied = (address: string): Promise<boolean> =>
    policy.lookup(address).then(
      () => false,
      (error: unknown) => error instanceof EgressDenied,
    );
  const answers = await Promise.all(asked.map(isDenied));
  const reached = asked.filter((_, index) => !answers[index]);
  const layer = "egress";
  if (reached.length > 0) {
    const remedy = "this is a fault of caisson: please report it as SECURITY.md says";
    return { layer, state: "open", proof: `${reached.join(", ")} may be reached`, remedy };
  }
  const places = egressAllow.map(({ host, port }) => `${isIPv6(host) ? `[${host}]` : host}:${port}`);
  const allowed = places.length > 0 ? `; also ${places.join(", ")} by --egress-allow` : "";
  const mode = egress === "none" ? "no address" : `public addresses on ports ${egressPorts.join(", ") || "none"}`;
  return { layer, state: "held", proof: `${mode}${allowed}; ${asked.join(", ")}: denied` };
}
