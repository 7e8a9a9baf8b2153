import type { Party } from "../containers/party.ts";
import type { Claims } from "../tokens/claims.ts";

const parties = new WeakMap<Claims, Party>();

/**
 * Who the runs of a token share a guest with: all free code of a container is one party, unless its tokens differ in what
 * they reach over the network. A token with a pin is a party of its own: nobody else's code runs beside it.
 */
export function partyOf(claims: Claims): Party {
  let party = parties.get(claims);
  if (!party) {
    const { jti, code, fresh, net } = claims;
    const who = code ? `pinned ${jti} ${JSON.stringify(code)}` : "free";
    party = { key: `${who} ${JSON.stringify(net)}`, fresh, net };
    // The same object in every run, so that none makes its key anew.
    parties.set(claims, party);
  }
  return party;
}
