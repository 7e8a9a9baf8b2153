import type { TokenStore } from "../store.ts";
import type { KeyRing } from "./key-ring.ts";

/** How long a node that has not read the new key yet may go on signing with the old one, in milliseconds: longer than an operator would overlook it. */
const UNHEARD_MS = 86_400_000;

/**
 * The retired keys that no valid token was signed with: a thief of such a key gains nothing.
 *
 * @param register must have a record of every token that the keys have signed.
 * @throws {Problem} `store_unavailable`
 */
export async function endedKeys(
  ring: Pick<KeyRing, "retired">,
  register: Pick<TokenStore, "isKeyUsed">,
  nowMs: number,
): Promise<ReadonlySet<string>> {
  const ended = new Set<string>();
  for (const { kid, sinceMs } of ring.retired) {
    if (sinceMs === null || sinceMs + UNHEARD_MS >= nowMs) continue;
    if (!(await register.isKeyUsed(kid, nowMs))) ended.add(kid);
  }
  return ended;
}
