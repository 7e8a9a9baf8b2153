import { canonicalHost, placeText } from "./host.ts";
import { EgressDenied, type EgressPolicy } from "./policy.ts";

/**
 * What a token leaves of the operator's policy: everything (null), nothing at all (false), or these places, each a host
 * or `host:port` in the spelling of `placeText`.
 */
export type NetClaim = readonly string[] | false | null;

/** The policy, narrowed by a token's claim: what the claim names is still judged by the policy. */
export function narrowed(policy: EgressPolicy, claim: NetClaim): EgressPolicy {
  if (claim === null) return policy;
  const named: ReadonlySet<string> = new Set(claim === false ? [] : claim);
  return {
    async resolve(host, port) {
      const name = canonicalHost(host);
      if (name === null) throw new EgressDenied(host, "host", "is not a host");
      // Before DNS is asked: a lookup is a way out too.
      if (!named.has(name) && !named.has(placeText({ host: name, port }))) {
        throw new EgressDenied(host, "claim", claim === false ? NO_NETWORK : NOT_NAMED);
      }
      return policy.resolve(host, port);
    },
  };
}

const NO_NETWORK = "may not be reached: the token permits no network";
const NOT_NAMED = "is not among the places that the token permits";
