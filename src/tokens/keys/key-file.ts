import { createPrivateKey, createPublicKey } from "node:crypto";
import { resolve } from "node:path";

import { calculateJwkThumbprint, exportJWK, generateKeyPair } from "jose";
import { z } from "zod";

import { readPrivate, writePrivate } from "../private-file.ts";
import { ALGORITHM, MAX_UNIX_S } from "../token-format.ts";

/** A stored private key (RFC 7517, RFC 8037), with its times. */
export interface StoredKey {
  kty: "OKP";
  crv: "Ed25519";
  x: string;
  d: string;
  /** Its RFC 7638 thumbprint. */
  kid: string;
  alg: typeof ALGORITHM;
  use: "sig";
  /** The creation time in Unix seconds. It may be missing in a key that was created elsewhere. */
  iat?: number;
  /** The Unix seconds from which on the key signs. Without it the key signs from its creation. */
  nbf?: number;
}

/** The maximum number of keys, far above what an operator needs. It bounds what a start reads. */
export const MAX_KEYS = 100;

/** A part of an Ed25519 key: 32 bytes, which are 43 characters in base64url. */
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
/** The version of the format: the member `version` of the file, which is absent in version 1. */
export const KEYS_VERSION = 1;
const keySet = z.strictObject({
  version: z.exactOptional(z.literal(KEYS_VERSION)),
  keys: z.array(storedKey).min(1).max(MAX_KEYS),
});

/**
 * Reads the keys of a file, newest first.
 *
 * @returns the keys; `undefined` if the file does not exist.
 * @throws {Error} when it is empty, damaged or accessible to other users. The message contains the fix. It never contains a part
 * of the file, because it ends up in a log.
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
    if (kids.has(kid)) throw damaged(file, `key ${index + 1} occurs twice`);
    kids.add(kid);
  }
  return keys;
}

/** Writes the keys, as {@link writePrivate}. */
export async function writeKeyFile(
  file: string,
  keys: readonly StoredKey[],
  options: { replace: boolean },
): Promise<boolean> {
  return await writePrivate(file, `${JSON.stringify({ keys }, null, 2)}\n`, options);
}

/**
 * Creates a key. Its name is derived from the key and never begins with a hyphen, which a command line would read as an option.
 *
 * @param nbf the Unix seconds from which on it signs, if that is not now
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

/** Returns the error for keys that are missing and must not be created. */
export function missing(file: string): Error {
  return new Error(
    `there are no signing keys at ${resolve(file)}; start the service once, which creates them in its data folder; ` +
      `for a file of --keys run: caisson keys make --keys ${resolve(file)}`,
  );
}

/** Returns the error for lost keys: the store has tokens that only these keys verify. */
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
  refuseNewer(json, file);
  const parsed = keySet.safeParse(json);
  if (parsed.success) return parsed.data.keys;
  const members = new Set(parsed.error.issues.map(({ path }) => path.join(".") || "the whole"));
  throw damaged(file, `it is not a set of private Ed25519 keys (RFC 8037); see ${[...members].slice(0, 5).join(", ")}`);
}

/** A newer release may write members that this one does not have, and its file must not be called damaged. */
function refuseNewer(json: unknown, file: string): void {
  const { version } = (json ?? {}) as { version?: unknown };
  if (typeof version !== "number" || version <= KEYS_VERSION) return;
  throw new Error(
    `the signing keys in ${resolve(file)} cannot be used: it has version ${version} of the format, and this release reads ` +
      `versions up to ${KEYS_VERSION}: start the release that wrote it, or restore a backup that this release made`,
  );
}

/** Derives the public part from the private one. Node ignores `x` here. */
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
