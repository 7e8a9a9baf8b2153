import type { KeyUsage, Limiter } from "../limits/limiter.ts";
import type { Claims } from "../tokens/claims.ts";

/** What is left for a token in a container, of both. Consumes nothing. */
export function readUsage(limiter: Limiter, container: string, claims: Claims): Promise<KeyUsage[]> {
  return Promise.all([limiter.container(container, claims), limiter.token(claims.jti, claims.limits.token)]);
}
