import type { NetClaim } from "../egress/narrow.ts";
import type { Claims } from "./claims.ts";

/** What decides which runs share a guest: the containers take it as an isolation group. */
export interface Isolation {
  /** The same text for runs that may share a guest, and for no others. */
  readonly isolationKey: string;
  /** Each run gets a guest that no run has used. */
  readonly fresh: boolean;
  readonly net: NetClaim;
}

/**
 * All free code of a container shares a guest, unless its tokens differ in what they reach over the network. A token with a
 * pin shares with no other token. Neither does one with secrets, and it changes its guest when they are replaced: what its
 * code has kept of the old ones goes with the old guest.
 *
 * @param secrets the version of the secrets that its runs receive, or null
 */
export function isolationOf({ jti, code, fresh, net }: Claims, secrets: string | null): Isolation {
  const free = secrets === null ? "free" : `alone ${jti}`;
  const who = code ? `pinned ${jti} ${JSON.stringify(code)}` : free;
  const isolationKey = `${who} ${JSON.stringify(net)}${secrets === null ? "" : ` ${secrets}`}`;
  return Object.freeze({ isolationKey, fresh, net });
}
