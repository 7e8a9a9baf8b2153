import { ByteCache } from "../../byte-cache.ts";
import { Redaction } from "../../redaction/redaction.ts";
import type { RunSecrets } from "../../tokens/secrets/vault.ts";

/** The most bytes of cached redactions. Runs of a token share secrets, and a redaction takes milliseconds to build. */
const CACHE_BYTES = 32 * 2 ** 20;
/** The approximate memory of a redaction for each character of a secret. */
const BYTES_PER_CHAR = 48;

const cache = new ByteCache<Redaction>(CACHE_BYTES);

/** Returns the redaction that removes the secrets of a run from texts. */
export function redactionOf({ version, values, family }: RunSecrets): Redaction {
  const cached = cache.get(version);
  if (cached) return cached;
  const chars = values.reduce((sum, { length }) => sum + length, 0);
  return cache.add(version, new Redaction(values), chars * BYTES_PER_CHAR, family);
}
