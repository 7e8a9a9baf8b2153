import type { LimitSubject } from "../limits/limit-subject.ts";
import type { KeyReading, Limiter } from "../limits/limiter.ts";

/** What is left for a token in a container, of both. Consumes nothing. */
export function readUsage(limiter: Limiter, container: string, holder: LimitSubject): Promise<KeyReading[]> {
  return Promise.all([limiter.container(container, holder), limiter.token(holder.jti, holder.limits.token)]);
}
