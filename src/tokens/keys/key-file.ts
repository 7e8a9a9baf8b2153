import { createPrivateKey, createPublicKey } from "node:crypto";
import { resolve } from "node:path";

import { calculateJwkThumbprint, exportJWK, generateKeyPair } from "jose";
import { z } from "zod";

import { ALGORITHM, MAX_UNIX_S } from "../format.ts";
import { readPrivate, writePrivate } from "../private-file.ts";

/** A private key as it is kept (RFC 7517, RFC 8037), with its times. */
export interface StoredKey {
  kty: "OKP";
  crv: "Ed25519";
  x: string;
  d: string;
  /** Its RFC 7638 thumbprint. */
  kid: string;
  alg: typeof ALGORITHM;
  use: "sig";
  /** Unix seconds in which it was made. One that was not made here may not say. */
  iat?: number;
  /** Unix seconds before which it signs nothing. Without it that is when it was made. */
  nbf?: number;
}

/** Above what anybody needs. It bounds what a start reads. */
export const MAX_KEYS = 100;

/** Ed25519's keys are 32 bytes: 43 characters in base64url. */
const bytes32 = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const unixSeconds = z.int().min(0).max(MAX_UNIX_S);
const storedKey: z.ZodType<StoredKey> = z.strictObject({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: bytes32,
  d: bytes32,
  kid: bytes32,
  alg: z.literal(ALGORITHM),
  use: z.literal("sig"),
  iat: z.exactOptional(unixSeconds),
  nbf: z.exactOptional(unixSeconds),
});
const keySet = z.strictObject({ keys: z.array(storedKey).min(1).max(MAX_KEYS) });

/**
 * The keys of a file, the newest first.
 *
 * @returns `undefined` when there is no such file.
 * @throws {Error} when it is empty, damaged or open to others: it says what to do, and shows nothing of what stands in
 * the file, because it would end in a log.
 */
export async function readKeyFile(file: string): Promise<StoredKey[] | undefined> {
  const text = await readPrivate(file);
  if (text === undefined) return undefined;
  const keys = parse(text, file);
  const kids = new Set<string>();
  for (const [index, { x, d, kid, kty, crv }] of keys.entries()) {
    if (publicPartOf(d, x) !== x)
      throw damaged(file, `the public and the private part of key ${index + 1} do not match`);
    // The name follows from the key (RFC 7638), so that two keys can never have the same one.
    if ((await calculateJwkThumbprint({ kty, crv, x })) !== kid) {
      throw damaged(file, `the kid of key ${index + 1} is not its RFC 7638 thumbprint`);
    }
    if (kids.has(kid)) throw damaged(file, `key ${index + 1} is there twice`);
    kids.add(kid);
  }
  return keys;
}

/** As {@link writePrivate}. */
export async function writeKeyFile(
  file: string,
  keys: readonly StoredKey[],
  options: { replace: boolean },
): Promise<boolean> {
  return await writePrivate(file, `${JSON.stringify({ keys }, null, 2)}\n`, options);
}

/**
 * Its name, which is made of it, begins with no hyphen: on a command line it would be taken for an option.
 *
 * @param nbf Unix seconds from which on it signs, when that is not now.
 */
export async function newStoredKey(nowMs: number, nbf?: number): Promise<StoredKey> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { crv: "Ed25519", extractable: true });
  const { x, d } = (await exportJWK(privateKey)) as { x: string; d: string };
  const kid = await calculateJwkThumbprint({ kty: "OKP", crv: "Ed25519", x });
  if (kid.startsWith("-")) return newStoredKey(nowMs, nbf);
  const iat = Math.floor(nowMs / 1_000);
  const times = nbf === undefined ? { iat } : { iat, nbf };
  return { kty: "OKP", crv: "Ed25519", x, d, kid, alg: ALGORITHM, use: "sig", ...times };
}

/** There are none, and nobody may make any. */
export function missing(file: string): Error {
  return new Error(
    `there are no signing keys at ${resolve(file)}; start the service once, which makes them, or name the right file`,
  );
}

/** They were there: tokens are on record that only they verify. */
export function lost(file: string): Error {
  return new Error(
    `the signing keys at ${resolve(file)} are missing, and tokens issued so far are signed with them; restore the file from ` +
      "a backup, or make a new key with: caisson keys make, which ends every token issued so far",
  );
}

function parse(text: string, file: string): StoredKey[] {
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

function damaged(file: string, fault: string): Error {
  return new Error(
    `the signing keys in ${resolve(file)} cannot be used: ${fault}; restore the file from a backup, ` +
      "or move it away and make a new key with: caisson keys make, which ends every token issued so far",
  );
}
