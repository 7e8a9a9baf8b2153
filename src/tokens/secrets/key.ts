import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { resolve } from "node:path";

import { readPrivate, writePrivate } from "../private-file.ts";

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
/** The nonce length: random nonces of 96 bits are safe for 2^32 uses of one key (NIST SP 800-38D, section 8.2.2). */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAX_KEYS = 16;
/** The version of the format: only keys. */
export const SECRETS_KEY_VERSION = 1;
/** The first line of a file of a later version. */
const VERSION_LINE = /^version (\d{1,9})$/;
/** 32 bytes in Base64, in either alphabet, with or without padding. */
const LINE = /^[A-Za-z0-9+/_-]{43}=?$/;

/** The key that encrypts secrets at rest. */
export class SecretKey {
  /** The first key encrypts, all keys decrypt, so that a key can be replaced. */
  readonly #keys: readonly Buffer[];

  /**
   * Reads a key, or creates one.
   *
   * @param options `create: true` creates a key if the file does not exist, for its owner only
   * @throws {Error} when the file is missing, empty, damaged or accessible to other users. The message contains the fix.
   */
  static async open(file: string, options: { create: boolean }): Promise<SecretKey> {
    let text = await readPrivate(file);
    if (text === undefined && options.create) {
      // If another process has created the file first, its key counts and this one is discarded.
      await writePrivate(file, `${randomBytes(KEY_BYTES).toString("base64")}\n`, { replace: false });
      text = await readPrivate(file);
    }
    if (text === undefined) {
      throw new Error(
        `there is no key of secrets at ${resolve(file)}; start the service once, which creates one in its data folder, or name the right file`,
      );
    }
    return new SecretKey(keysOf(text, file));
  }

  private constructor(keys: readonly Buffer[]) {
    this.#keys = keys;
  }

  /** Encrypts with AES-256-GCM. The result decrypts under the same name only. @returns base64url. */
  seal(name: string, text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#keys[0]!, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(name));
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /** Decrypts a text. @throws {Error} when it was encrypted under another name or key, or was changed. */
  open(name: string, sealed: string): string {
    const bytes = Buffer.from(sealed, "base64url");
    for (const key of this.#keys) {
      const text = decrypted(key, name, bytes);
      if (text !== null) return text;
    }
    throw new Error("none of the keys decrypts the stored secrets");
  }
}

/** Returns the error for a lost key: the store has secrets that only this key decrypts. */
export function lostKey(file: string): Error {
  return new Error(
    `the key of secrets at ${resolve(file)} is missing, and the stored secrets are encrypted with it; restore the file from ` +
      "a backup, or give up these secrets: move secrets.sqlite, secrets.sqlite-wal and secrets.sqlite-shm out of the data " +
      "folder, and the next start creates a new key",
  );
}

function decrypted(key: Buffer, name: string, bytes: Buffer): string | null {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const body = NONCE_BYTES + TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(name));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, body));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(body)), decipher.final()]).toString();
  } catch {
    // Encrypted with another key.
    return null;
  }
}

/** Parses the keys. An error contains the fault and no part of the file, because it ends up in a log. */
function keysOf(text: string, file: string): Buffer[] {
  const lines = text.split("\n").map((line) => line.trim());
  const filled = lines.filter((line) => line !== "");
  const version = VERSION_LINE.exec(filled[0] ?? "")?.[1];
  if (version !== undefined) {
    throw new Error(
      `the key of secrets in ${resolve(file)} cannot be used: it has version ${version} of the format, and this release ` +
        `reads version ${SECRETS_KEY_VERSION}: start the release that wrote it, or restore a backup that this release made`,
    );
  }
  if (filled.length === 0) throw damaged(file, "it is empty");
  if (filled.length > MAX_KEYS) throw damaged(file, `it has ${filled.length} lines; at most ${MAX_KEYS} are allowed`);
  return filled.map((line, index) => {
    const key = Buffer.from(line, "base64");
    if (!LINE.test(line) || key.length !== KEY_BYTES)
      throw damaged(file, `line ${index + 1} is not 32 bytes in Base64`);
    return key;
  });
}

function damaged(file: string, fault: string): Error {
  return new Error(
    `the key of secrets in ${resolve(file)} cannot be used: ${fault}; restore the file from a backup, or put a new key there ` +
      "(openssl rand -base64 32), which cannot decrypt the secrets stored so far",
  );
}
