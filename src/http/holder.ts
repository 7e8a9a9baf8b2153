import { Problem } from "../errors.ts";
import { type Ancestor, LimitSubject } from "../limits/limit-subject.ts";
import type { Claims } from "../tokens/claims.ts";
import type { TokenRegister } from "../tokens/register.ts";

const holders = new WeakMap<Claims, LimitSubject>();

/**
 * The token as the limiter counts it: with the limits of the tokens above it, as they were issued. At once, unless it has
 * some and is seen for the first time.
 *
 * @throws {Problem} as a rejection: `store_unavailable` when those cannot be looked up, `token_invalid` when one is not
 * known here, because then its limits are not.
 */
export function holderOf(claims: Claims, registry: TokenRegister): LimitSubject | Promise<LimitSubject> {
  const known = holders.get(claims);
  if (known) return known;
  return claims.parents.length === 0 ? keep(claims, []) : withParents(claims, registry);
}

async function withParents(claims: Claims, registry: TokenRegister): Promise<LimitSubject> {
  const parents = claims.parents.map(async (jti) => {
    const issued = await registry.issued(jti);
    if (!issued) throw new Problem("token_invalid", "a token that this one descends from is not known here", UNKNOWN);
    return { jti, limits: issued.claims.limits.token };
  });
  return keep(claims, await Promise.all(parents));
}

const UNKNOWN = { hint: "Ask the issuer for a new one." };

/** The same object in every run: what the limiter works out for it is kept with it. */
function keep(claims: Claims, parents: readonly Ancestor[]): LimitSubject {
  let holder = holders.get(claims);
  if (!holder) {
    holder = new LimitSubject(claims.jti, claims.limits, parents);
    holders.set(claims, holder);
  }
  return holder;
}
