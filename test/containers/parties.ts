import type { Party } from "../../src/containers/party.ts";
import { type Family, Tenant, type TenantCaps, type TokenChain } from "../../src/containers/tenants.ts";

/** Everybody who may run free code. */
export const FREE: Party = { key: "free", fresh: false, net: null };

/** A party of its own. */
export function partyNamed(key: string, changes: Partial<Party> = {}): Party {
  return { ...FREE, key, ...changes };
}

export const NO_CAPS: TenantCaps = { containers: 1_000, concurrency: 1_000, newContainers: 1_000 };

/** A token that holds something. */
export function holder(): Family {
  const head = new Tenant();
  return { members: [head], head, generation: 0 };
}

/** A token, and those above it, nearest first. */
export function token(jti: string, ...parents: string[]): TokenChain {
  return { jti, ancestors: parents.map((parent) => ({ jti: parent })) };
}
