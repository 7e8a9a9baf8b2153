import { isIPv6 } from "node:net";

import type { Config } from "../config.ts";
import { EgressDenied, egressPolicy } from "../egress/policy.ts";
import type { Finding } from "./finding.ts";

/** Loopback, a private network, the metadata of a cloud, and such an address wrapped in IPv6. */
const PRIVATE = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1"];
/** That the rules of the ports allow. */
const PORT = 443;

/** Where tasks and task_url may lead, in words, after the policy was asked about places that it must refuse. */
export async function examineEgress({ egress, egressAllow }: Config): Promise<Finding> {
  const policy = egressPolicy({ mode: egress, allow: egressAllow });
  const named = new Set(egressAllow.map(({ host }) => host));
  const asked = PRIVATE.filter((address) => !named.has(address));
  const answers = await Promise.all(
    asked.map((address) =>
      policy.resolve(address, PORT).then(
        () => address,
        // Refused for its port, an address would not have been looked at.
        (error: unknown) => (error instanceof EgressDenied && error.reason !== "port" ? null : address),
      ),
    ),
  );
  const reached = answers.filter((address) => address !== null);
  const places = egressAllow.map(({ host, port }) => `${isIPv6(host) ? `[${host}]` : host}:${port}`);
  const allowed = places.length > 0 ? `; also ${places.join(", ")} by --egress-allow` : "";
  const mode = egress === "none" ? "nothing may be reached" : "public addresses may be reached, no private ones";
  const layer = "egress";
  if (reached.length === 0) return { layer, state: "held", proof: `${mode}${allowed}; ${asked.join(", ")}: denied` };
  const remedy = "this is a fault of caisson: please report it as SECURITY.md says";
  return { layer, state: "open", proof: `${reached.join(", ")} may be reached`, remedy };
}
