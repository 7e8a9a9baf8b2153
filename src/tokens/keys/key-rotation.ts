import { resolve } from "node:path";

import { MAX_KEYS, missing, newStoredKey, readKeyFile, type StoredKey, writeKeyFile } from "./key-file.ts";

/**
 * Adds a key that signs instead of the keys in the file, which continue to verify. The caller must ensure that no other process
 * changes the file at the same time: a lost key may already have signed a token.
 *
 * @param signsFromS the Unix seconds from which on it signs, if that is not now
 * @returns the name of the new key.
 * @throws {Error} as `readKeyFile` does, or when there are too many keys.
 */
export async function rotateKeys(file: string, nowMs: number, signsFromS?: number): Promise<string> {
  const added = await newStoredKey(nowMs, signsFromS);
  await change(file, (keys) => {
    if (keys.length < MAX_KEYS) return [added, ...keys];
    throw new Error(`${resolve(file)} contains ${keys.length} keys, which is the maximum; revoke keys that have ended`);
  });
  return added.kid;
}

/**
 * Removes a key from the file, which ends all tokens that it has signed. If no remaining key signs now, a new one is created.
 *
 * @returns the name of the new key, or null.
 * @throws {Error} as `readKeyFile` does, or when the key does not exist.
 */
export async function revokeKey(file: string, kid: string, nowMs: number): Promise<string | null> {
  const added = await newStoredKey(nowMs);
  let isReplaced = false;
  await change(file, (keys) => {
    const at = keys.findIndex((key) => key.kid === kid);
    if (at < 0) throw new Error(`${resolve(file)} contains no key ${JSON.stringify(kid)}; keys list shows the names`);
    // The keys before the signing key wait for their time. The keys after it were replaced and no longer sign.
    isReplaced = kid === signingKey(keys, nowMs).kid;
    return keys.toSpliced(at, 1, ...(isReplaced ? [added] : []));
  });
  return isReplaced ? added.kid : null;
}

/**
 * Creates a file with one new key.
 *
 * @returns the name of the key.
 * @throws {Error} when the file exists: its keys may have signed tokens.
 */
export async function makeKeys(file: string, nowMs: number): Promise<string> {
  const added = await newStoredKey(nowMs);
  if (await writeKeyFile(file, [added], { replace: false })) return added.kid;
  throw new Error(`${resolve(file)} already exists; keys rotate adds a key to it, and ends no token`);
}

/** Returns the key that signs at a moment. */
export function signingKey(keys: readonly StoredKey[], nowMs: number): StoredKey {
  return keys.find(({ nbf, iat }) => (nbf ?? iat ?? 0) * 1_000 <= nowMs) ?? keys.at(-1)!;
}

async function change(file: string, edit: (keys: readonly StoredKey[]) => StoredKey[]): Promise<void> {
  const keys = await readKeyFile(file);
  if (keys === undefined) throw missing(file);
  await writeKeyFile(file, edit(keys), { replace: true });
}
