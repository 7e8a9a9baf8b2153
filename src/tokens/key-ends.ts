import { setImmediate } from "node:timers/promises";

import type { Claims } from "./claims.ts";
import { LEEWAY_S } from "./format.ts";
import type { KeyRing } from "./keys.ts";
import type { TokenRegister } from "./register.ts";

/** Read of the register at a time, so that requests come in between. */
const SCANNED = 500;
/** A node that has not heard of a new key yet goes on with the old one, in milliseconds. More than anybody would not notice. */
const UNHEARD_MS = 86_400_000;

/**
 * The keys that have retired and that nothing valid is signed with any more: if one of them is ever stolen, it is worth
 * nothing. Asked of the register, which must know all tokens that these keys have signed.
 *
 * @throws {Problem} `store_unavailable`
 */
export async function endedKeys(
  ring: Pick<KeyRing, "retired">,
  register: Pick<TokenRegister, "list" | "isRevoked">,
  nowMs: number,
): Promise<ReadonlySet<string>> {
  const { retired } = ring;
  const first = Math.min(...retired.map(({ sinceMs }) => (sinceMs ?? Infinity) + UNHEARD_MS));
  if (first > nowMs) return new Set();
  // Which key has signed a token is not recorded. None that retired before the oldest one that is valid has signed any.
  const oldestMs = await oldestValid(register, nowMs, first);
  return new Set(
    retired.filter(({ sinceMs }) => sinceMs !== null && sinceMs + UNHEARD_MS < oldestMs).map(({ kid }) => kid),
  );
}

/** When the oldest token was issued that is valid, or is going to be; any that is older than `enoughMs` is as good. */
async function oldestValid(
  register: Pick<TokenRegister, "list" | "isRevoked">,
  nowMs: number,
  enoughMs: number,
): Promise<number> {
  let oldestMs = nowMs;
  for (let after = ""; ;) {
    const some = await register.list(after, SCANNED);
    const last = some.at(-1);
    if (!last) return oldestMs;
    after = last.claims.jti;
    for (const { claims, issuedAt } of some) {
      if (issuedAt < oldestMs && !isOver(claims, register, nowMs)) oldestMs = issuedAt;
    }
    if (oldestMs <= enoughMs) return oldestMs;
    await setImmediate();
  }
}

function isOver({ exp, jti, parents }: Claims, register: Pick<TokenRegister, "isRevoked">, nowMs: number): boolean {
  if (exp !== null && nowMs >= (exp + LEEWAY_S) * 1_000) return true;
  return [jti, ...parents].some((each) => register.isRevoked(each));
}
