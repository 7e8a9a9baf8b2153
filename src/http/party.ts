import type { IsolationGroup } from "../containers/isolation-group.ts";
import type { Claims } from "../tokens/claims.ts";

const parties = new WeakMap<Claims, { party: IsolationGroup; secrets: string | null }>();

/**
 * Who the runs of a token share a guest with: all free code of a container is one party, unless its tokens differ in what
 * they reach over the network. A token with a pin is a party of its own: nobody else's code runs beside it. So is one with
 * secrets, and again when they are replaced: what its code has kept of the old ones goes with its guest.
 *
 * @param secrets the version of those that its runs are given, or null.
 */
export function partyOf(claims: Claims, secrets: string | null): IsolationGroup {
  const known = parties.get(claims);
  let party = known?.secrets === secrets ? known.party : undefined;
  if (!party) {
    const { jti, code, fresh, net } = claims;
    const free = secrets === null ? "free" : `alone ${jti}`;
    const who = code ? `pinned ${jti} ${JSON.stringify(code)}` : free;
    party = { isolationKey: `${who} ${JSON.stringify(net)}${secrets === null ? "" : ` ${secrets}`}`, fresh, net };
    // The same object in every run, so that none makes its key anew.
    parties.set(claims, { party, secrets });
  }
  return party;
}
