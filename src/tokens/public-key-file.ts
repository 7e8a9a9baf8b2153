import { z } from "zod";

import { MAX_KEYS } from "./key-file.ts";
import type { VerifyingKey } from "./key-set.ts";
import { imported } from "./keys.ts";
import { readGuarded } from "./private-file.ts";

/** Members of a key that only its owner may have (RFC 7518, RFC 8037). */
const SECRET = ["d", "k", "p", "q", "dp", "dq", "qi", "oth"];
/** Longer ones make every token longer, and are nobody's. */
const MAX_KID_CHARS = 200;

const keySet = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(MAX_KEYS) });
/** What signs tokens: an Ed25519 key, for nothing else, by the one algorithm. */
const usable = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.string().regex(/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/),
  kid: z.string().min(1).max(MAX_KID_CHARS),
  // RFC 9864 has a name of its own for it.
  alg: z.exactOptional(z.enum(["EdDSA", "Ed25519"])),
  use: z.exactOptional(z.literal("sig")),
  key_ops: z.exactOptional(z.array(z.string()).refine((all) => all.includes("verify"))),
});

/**
 * The keys of a public JWK set that tokens can be checked with. Those of other kinds are passed over (RFC 7517, section 5):
 * an issuer may have some for other purposes.
 *
 * @throws {Error} when the file is missing, damaged, to be written by others, holds what is secret, or has no such key.
 */
export async function readPublicKeyFile(file: string): Promise<VerifyingKey[]> {
  // Whoever can change it can sign tokens. Everybody may read it.
  const text = await readGuarded(file, { forbidden: 0o022, remedy: "go-w" });
  if (text === undefined) throw new Error(`--jwks: there is no file ${file}; put the public keys of --issuer there`);
  const found = parse(text, file);
  const keys: VerifyingKey[] = [];
  for (const [index, jwk] of found.entries()) {
    if (SECRET.some((member) => member in jwk)) {
      throw unusable(file, `key ${index + 1} has a private part, which is the issuer's alone`);
    }
    const parsed = usable.safeParse(jwk);
    if (!parsed.success) continue;
    const { kty, crv, x, kid } = parsed.data;
    if (keys.some((key) => key.kid === kid)) throw unusable(file, `key ${index + 1} has the kid of another`);
    keys.push({ kid, x, key: await imported({ kty, crv, x }) });
  }
  if (keys.length === 0) throw unusable(file, "it has no Ed25519 key with a kid that is for signatures (RFC 8037)");
  return keys;
}

function parse(text: string, file: string): Record<string, unknown>[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw unusable(file, "it is not JSON");
  }
  const parsed = keySet.safeParse(json);
  if (!parsed.success) throw unusable(file, `it is not a JWK set of at most ${MAX_KEYS} keys (RFC 7517)`);
  return parsed.data.keys;
}

function unusable(file: string, fault: string): Error {
  return new Error(`--jwks: ${file} cannot be used: ${fault}; get the public keys from the issuer again`);
}
