import type { IsolationGroup } from "../../src/containers/isolation-group.ts";
import { type TokenCaps, type TokenChain, TokenLineage, TokenLoad } from "../../src/containers/token-quotas.ts";

/** The group of all runs of free code. */
export const FREE: IsolationGroup = { isolationKey: "free", fresh: false, net: null };

/** A group that no other run is in. */
export function groupNamed(isolationKey: string, changes: Partial<IsolationGroup> = {}): IsolationGroup {
  return { ...FREE, isolationKey, ...changes };
}

export const NO_CAPS: TokenCaps = { containers: 1_000, concurrency: 1_000, newContainers: 1_000 };

/** A token that holds something. */
export function holder(): TokenLineage {
  return new TokenLineage([new TokenLoad()], {});
}

/** A token, and those above it, nearest first. */
export function token(jti: string, ...above: string[]): TokenChain {
  return { jti, ancestors: above.map((each) => ({ jti: each })) };
}
