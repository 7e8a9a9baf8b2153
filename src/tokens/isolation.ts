import type { NetClaim } from "../egress/restrict-policy.ts";
import type { Claims } from "./claims.ts";

/** The isolation group of a run: it decides which runs share a guest. */
export interface Isolation {
  /** Equal texts for runs that may share a guest, and different texts for all others. */
  readonly isolationKey: string;
  /** Whether each run gets a guest that no run has used. */
  readonly fresh: boolean;
  readonly net: NetClaim;
}

/**
 * All unpinned code of a container shares a guest, unless its tokens differ in network access or in the packages that they permit. A
 * token with a pin shares with no other token. A token with secrets does not share either. Its guest ends when the secrets are replaced, because its code
 * may have stored the old ones.
 *
 * A timeout is not part of the group, just as limits are not: the service ends each run by its own deadline, and no code in the
 * guest takes part in that.
 *
 * @param secrets the version of the secrets that its runs receive, or null
 */
export function isolationOf({ jti, code, fresh, net, packages }: Claims, secrets: string | null): Isolation {
  const free = secrets === null ? "free" : `alone ${jti}`;
  const owner = code ? `pinned ${jti} ${JSON.stringify(code)}` : free;
  const imports = packages === null ? "" : ` packages ${JSON.stringify(packages)}`;
  const isolationKey = `${owner} ${JSON.stringify(net)}${imports}${secrets === null ? "" : ` ${secrets}`}`;
  return Object.freeze({ isolationKey, fresh, net });
}
