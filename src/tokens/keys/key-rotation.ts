import { resolve } from "node:path";

import { MAX_KEYS, missing, newStoredKey, readKeyFile, type StoredKey, writeKeyFile } from "./key-file.ts";

/**
 * Makes a key that signs in place of those of the file, which go on to verify. Whoever calls sees to it that nobody else
 * changes the file meanwhile: a key that is lost may have signed by then.
 *
 * @param signsFromS Unix seconds from which on it signs, when that is not now.
 * @returns its name.
 * @throws {Error} as `readKeyFile` does, or when there are too many.
 */
export async function rotateKeys(file: string, nowMs: number, signsFromS?: number): Promise<string> {
  const made = await newStoredKey(nowMs, signsFromS);
  await change(file, (keys) => {
    if (keys.length < MAX_KEYS) return [made, ...keys];
    throw new Error(
      `${resolve(file)} holds ${keys.length} keys, which is as many as are read; revoke some that have ended`,
    );
  });
  return made.kid;
}

/**
 * Takes a key out of the file, which ends all that was signed with it. Where none is left that signs now, one is made.
 *
 * @returns the name of the key that was made, or null.
 * @throws {Error} as `readKeyFile` does, or when there is no such key.
 */
export async function revokeKey(file: string, kid: string, nowMs: number): Promise<string | null> {
  const made = await newStoredKey(nowMs);
  let used = false;
  await change(file, (keys) => {
    const at = keys.findIndex((key) => key.kid === kid);
    if (at < 0) throw new Error(`${resolve(file)} holds no key ${JSON.stringify(kid)}; keys list names them`);
    // Those before it wait for their time; those after it were replaced, and sign no more.
    used = kid === signingKey(keys, nowMs).kid;
    return keys.toSpliced(at, 1, ...(used ? [made] : []));
  });
  return used ? made.kid : null;
}

/**
 * Makes a file with one new key, where there is none.
 *
 * @returns the name of the key.
 * @throws {Error} when the file is there: what it holds may have signed tokens.
 */
export async function makeKeys(file: string, nowMs: number): Promise<string> {
  const made = await newStoredKey(nowMs);
  if (await writeKeyFile(file, [made], { replace: false })) return made.kid;
  throw new Error(`${resolve(file)} is there already; keys rotate adds a key to it, and ends no token`);
}

/** The one of them that signs at a moment. */
export function signingKey(keys: readonly StoredKey[], nowMs: number): StoredKey {
  return keys.find(({ nbf, iat }) => (nbf ?? iat ?? 0) * 1_000 <= nowMs) ?? keys.at(-1)!;
}

async function change(file: string, changed: (keys: readonly StoredKey[]) => StoredKey[]): Promise<void> {
  const keys = await readKeyFile(file);
  if (keys === undefined) throw missing(file);
  await writeKeyFile(file, changed(keys), { replace: true });
}
