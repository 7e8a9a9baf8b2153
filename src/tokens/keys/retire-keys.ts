import type { TokenStore } from "../store.ts";
import type { KeyRing } from "./key-ring.ts";

/**
 * How long a node that has not read the new key yet may continue to sign with the old one, in milliseconds. It is longer than an
 * operator would overlook a lagging node.
 */
const LAGGING_NODE_MS = 86_400_000;

/**
 * Returns the retired keys that have signed no valid token. A thief of these keys gains nothing.
 *
 * @param store a store with a record of every token that the keys have signed
 * @throws {Problem} `store_unavailable` when the records cannot be read.
 */
export async function endedKeys(
  ring: Pick<KeyRing, "retired">,
  store: Pick<TokenStore, "isKeyUsed">,
  nowMs: number,
): Promise<ReadonlySet<string>> {
  const ended = new Set<string>();
  for (const { kid, sinceMs } of ring.retired) {
    if (sinceMs === null || sinceMs + LAGGING_NODE_MS >= nowMs) continue;
    if (!(await store.isKeyUsed(kid, nowMs))) ended.add(kid);
  }
  return ended;
}
