import { createHash, timingSafeEqual } from "node:crypto";

/**
 * Whether a text is the token that reads the metrics. Compares hashes, so that the time of a comparison reveals nothing about
 * the token.
 *
 * @param expected null if the operator set none
 */
export function isMetricsToken(given: string, expected: string | null): boolean {
  return Boolean(expected) && timingSafeEqual(hashOf(given), hashOf(expected!));
}

function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
