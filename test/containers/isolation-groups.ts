import type { IsolationGroup } from "../../src/containers/isolation-group.ts";
import { type TokenCaps, type TokenChain, TokenLineage, TokenLoad } from "../../src/containers/token-quotas.ts";

/** The group of all runs of free code. */
export const FREE: IsolationGroup = { isolationKey: "free", fresh: false, net: null };

/** Returns a group with this key. */
export function groupNamed(isolationKey: string, changes: Partial<IsolationGroup> = {}): IsolationGroup {
  return { ...FREE, isolationKey, ...changes };
}

export const NO_CAPS: TokenCaps = { containers: 1_000, concurrency: 1_000, newContainers: 1_000 };

/** Returns the lineage of a token that can own slots. */
export function owner(): TokenLineage {
  return new TokenLineage([new TokenLoad()], token("owner"), {});
}

/** Returns the chain of a token and its ancestors, nearest first. */
export function token(jti: string, ...ancestors: string[]): TokenChain {
  return { jti, ancestors: ancestors.map((each) => ({ jti: each })) };
}
