import type { LookupFunction, TcpNetConnectOpts } from "node:net";

import type { CheckedAddress } from "./policy.ts";

const ATTEMPT_MS = 250;

/**
 * Returns options that connect only to these addresses, each in turn until one answers (RFC 8305). They avoid a second
 * DNS query, which could return other addresses.
 *
 * @param connectMs the time for all attempts together. The caller must enforce it, because the last attempt has no time
 *   limit.
 */
export function routeTo(addresses: readonly CheckedAddress[], port: number, connectMs: number): TcpNetConnectOpts {
  const lookup: LookupFunction = (_name, _options, done) => done(null, [...addresses]);
  return {
    // Node does not call `lookup` for a literal. For any other name it calls this `lookup`, so the name does not
    // matter.
    host: addresses.length === 1 ? addresses[0]!.address : "several.invalid",
    port,
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: Math.max(ATTEMPT_MS, Math.floor(connectMs / addresses.length)),
  };
}
