import { Redaction } from "../../redaction/redaction.ts";
import { ByteCache } from "../../tasks/byte-cache.ts";
import type { RunSecrets } from "../../tokens/secrets/vault.ts";

/** Bytes of recently used redactions: runs of one token have the same secrets, and a redaction takes milliseconds to build. */
const CACHE_BYTES = 32 * 2 ** 20;
/** About what a redaction takes for each character of a secret. */
const BYTES_PER_CHAR = 48;

const made = new ByteCache<Redaction>(CACHE_BYTES);

/** Returns what redacts the secrets of a run. */
export function redactionOf({ version, values, family }: RunSecrets): Redaction {
  const known = made.get(version);
  if (known) return known;
  const chars = values.reduce((sum, { length }) => sum + length, 0);
  return made.add(version, new Redaction(values), chars * BYTES_PER_CHAR, family);
}
