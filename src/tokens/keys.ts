import { createPrivateKey, createPublicKey } from "node:crypto";

import { calculateJwkThumbprint, type CryptoKey, exportJWK, generateKeyPair, importJWK } from "jose";
import { z } from "zod";

import { ALGORITHM } from "./format.ts";
import { readPrivate, writePrivate } from "./private-file.ts";

/** One public key of the service, as published (RFC 7517, RFC 8037). */
export interface PublicJwk {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly kid: string;
  readonly alg: typeof ALGORITHM;
  readonly use: "sig";
}

/** The keys that tokens are signed with: the first of the file signs, all verify, so that keys can be rotated. */
export class KeyRing {
  /** The key that signs, and its name. */
  readonly signing: { readonly kid: string; readonly key: CryptoKey };
  readonly #verifying = new Map<string, CryptoKey>();
  readonly #published: readonly PublicJwk[];

  /**
   * Reads a private JWK set, or makes one.
   *
   * @param options `create: true` makes a key when there is no file, for its owner only.
   * @throws {Error} when the file is missing, empty, damaged or open to others: it says what to do.
   */
  static async open(file: string, options: { create: boolean }): Promise<KeyRing> {
    let text = await readPrivate(file);
    if (text === undefined && options.create) {
      // When another process was faster its key counts, and this one is forgotten.
      await writePrivate(file, await newKeySet(), { replace: false });
      text = await readPrivate(file);
    }
    if (text === undefined) {
      throw new Error(
        `there are no signing keys at ${file}; start the service once, which makes them, or name the right file`,
      );
    }
    return new KeyRing(await readKeySet(text, file));
  }

  private constructor(keys: readonly Key[]) {
    this.signing = { kid: keys[0]!.published.kid, key: keys[0]!.signing };
    for (const { published, verifying } of keys) this.#verifying.set(published.kid, verifying);
    this.#published = keys.map(({ published }) => published);
  }

  /** The public key of that name. */
  verifying(kid: string): CryptoKey | undefined {
    return this.#verifying.get(kid);
  }

  /** The public part, for `/.well-known/jwks.json`. */
  jwks(): { keys: readonly PublicJwk[] } {
    return { keys: this.#published };
  }
}

interface Key {
  published: PublicJwk;
  signing: CryptoKey;
  verifying: CryptoKey;
}

/** Ed25519's keys are 32 bytes: 43 characters in base64url. */
const bytes32 = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const privateJwk = z.strictObject({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: bytes32,
  d: bytes32,
  kid: bytes32,
  alg: z.literal(ALGORITHM),
  use: z.literal("sig"),
});
const keySet = z.strictObject({ keys: z.array(privateJwk).min(1).max(100) });

async function newKeySet(): Promise<string> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { crv: "Ed25519", extractable: true });
  const { kty, crv, x, d } = await exportJWK(privateKey);
  const kid = await calculateJwkThumbprint({ kty: "OKP", crv: "Ed25519", x: x! });
  return `${JSON.stringify({ keys: [{ kty, crv, x, d, kid, alg: ALGORITHM, use: "sig" }] }, null, 2)}\n`;
}

/** The errors name the fault and never what stands in the file: it would end in a log. */
async function readKeySet(text: string, file: string): Promise<Key[]> {
  const keys: Key[] = [];
  const kids = new Set<string>();
  for (const [index, jwk] of parseKeySet(text, file).entries()) {
    const { kty, crv, x, kid, alg, use, d } = jwk;
    const published: PublicJwk = Object.freeze({ kty, crv, x, kid, alg, use });
    if (publicPartOf(d, x) !== x)
      throw damaged(file, `the public and the private part of key ${index + 1} do not match`);
    // The name follows from the key (RFC 7638), so that two keys can never have the same one.
    if ((await calculateJwkThumbprint(published)) !== kid) {
      throw damaged(file, `the kid of key ${index + 1} is not its RFC 7638 thumbprint`);
    }
    if (kids.has(kid)) throw damaged(file, `key ${index + 1} is there twice`);
    kids.add(kid);
    keys.push({ published, signing: await imported({ ...published, d }), verifying: await imported(published) });
  }
  return keys;
}

function parseKeySet(text: string, file: string): z.infer<typeof privateJwk>[] {
  if (text.trim() === "") throw damaged(file, "it is empty");
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw damaged(file, "it is not JSON");
  }
  const parsed = keySet.safeParse(json);
  if (parsed.success) return parsed.data.keys;
  const members = new Set(parsed.error.issues.map(({ path }) => path.join(".") || "the whole"));
  throw damaged(file, `it is not a set of private Ed25519 keys (RFC 8037); see ${[...members].slice(0, 5).join(", ")}`);
}

/** Node takes the public part from the private one and does not look at `x`. */
function publicPartOf(d: string, x: string): string | undefined {
  const privateKey = createPrivateKey({ key: { kty: "OKP", crv: "Ed25519", x, d }, format: "jwk" });
  return createPublicKey(privateKey).export({ format: "jwk" }).x;
}

async function imported(jwk: PublicJwk & { d?: string }): Promise<CryptoKey> {
  const key = await importJWK({ ...jwk }, ALGORITHM);
  if (key instanceof Uint8Array) throw new TypeError("an Ed25519 key is never raw bytes");
  return key;
}

function damaged(file: string, fault: string): Error {
  return new Error(
    `the signing keys in ${file} cannot be used: ${fault}; restore the file from a backup, ` +
      "or delete it for a new key, which ends every token issued so far",
  );
}
