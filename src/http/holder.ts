import type { Holder } from "../limits/limiter.ts";
import type { Claims } from "../tokens/claims.ts";
import type { Registry } from "../tokens/registry.ts";

const holders = new WeakMap<Claims, Holder>();

/** The token as the limiter counts it: with the limits of the tokens above it, as they were issued. */
export function holderOf(claims: Claims, registry: Registry): Holder {
  let holder = holders.get(claims);
  if (!holder) {
    const parents = claims.parents.map((jti) => ({ jti, limits: registry.issued(jti)?.claims.limits.token }));
    holder = { jti: claims.jti, limits: claims.limits, parents };
    // The same object in every run: what the limiter works out for it is kept with it.
    holders.set(claims, holder);
  }
  return holder;
}
