import type { LookupFunction, TcpNetConnectOpts } from "node:net";

import type { CheckedAddress } from "./policy.ts";

const ATTEMPT_MS = 250;

/**
 * How to connect to these addresses and no other, each in turn until one answers (RFC 8305). DNS is not asked again: a
 * second answer could be another one.
 *
 * @param connectMs for all of them together; whoever connects keeps it, since the last attempt has no end of its own.
 */
export function routeTo(addresses: readonly CheckedAddress[], port: number, connectMs: number): TcpNetConnectOpts {
  const lookup: LookupFunction = (_name, _options, done) => done(null, [...addresses]);
  return {
    // Node calls no `lookup` for a literal, and for any other name this one, whatever the name.
    host: addresses.length === 1 ? addresses[0]!.address : "several.invalid",
    port,
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: Math.max(ATTEMPT_MS, Math.floor(connectMs / addresses.length)),
  };
}
