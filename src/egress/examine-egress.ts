import { isIPv6 } from "node:net";

import type { Config } from "../config.ts";
import type { Finding } from "../finding.ts";
import { EgressDenied } from "./denied.ts";
import { egressPolicy } from "./policy.ts";

/** Loopback, a private network, the metadata service of a cloud, and private addresses wrapped in IPv6. */
const PRIVATE = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1"];

/** Describes where tasks and task_url may connect to. Tests the policy with addresses that it must deny. */
export async function examineEgress({ egress, egressAllow, egressPorts }: Config): Promise<Finding> {
  const policy = egressPolicy({ mode: egress, allow: egressAllow, ports: egressPorts });
  const allowedHosts = new Set(egressAllow.map(({ host }) => host));
  const tested = PRIVATE.filter((address) => !allowedHosts.has(address));
  // A lookup without a port, because the policy could deny a port without checking the address.
  const isDenied = (address: string): Promise<boolean> =>
    policy.lookup(address).then(
      () => false,
      (error: unknown) => error instanceof EgressDenied,
    );
  const answers = await Promise.all(tested.map(isDenied));
  const reached = tested.filter((_, index) => !answers[index]);
  const layer = "egress";
  if (reached.length > 0) {
    const remedy = "this is a bug in caisson: please report it as described in SECURITY.md";
    return { layer, state: "open", proof: `${reached.join(", ")} may be reached`, remedy };
  }
  const destinations = egressAllow.map(({ host, port }) => `${isIPv6(host) ? `[${host}]` : host}:${port}`);
  const allowed = destinations.length > 0 ? `; also ${destinations.join(", ")} by --egress-allow` : "";
  const mode = egress === "none" ? "no address" : `public addresses on ports ${egressPorts.join(", ") || "none"}`;
  return { layer, state: "held", proof: `${mode}${allowed}; ${tested.join(", ")}: denied` };
}
