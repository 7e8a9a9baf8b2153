import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { resolve } from "node:path";

import { readPrivate, writePrivate } from "../private-file.ts";

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
/** NIST SP 800-38D, section 8.2.2: random ones of 96 bits are safe for the 2^32 times that one key may be used. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAX_KEYS = 16;
/** 32 bytes in Base64, of either alphabet, with or without padding. */
const LINE = /^[A-Za-z0-9+/_-]{43}=?$/;

/** The key that secrets are encrypted with at rest. */
export class SecretKey {
  /** The first seals, all open, so that a key can be replaced. */
  readonly #keys: readonly Buffer[];

  /**
   * Reads a key, or makes one.
   *
   * @param options `create: true` makes one when there is no file, for its owner only.
   * @throws {Error} when the file is missing, empty, damaged or open to others: it says what to do.
   */
  static async open(file: string, options: { create: boolean }): Promise<SecretKey> {
    let text = await readPrivate(file);
    if (text === undefined && options.create) {
      // When another process was faster its key counts, and this one is forgotten.
      await writePrivate(file, `${randomBytes(KEY_BYTES).toString("base64")}\n`, { replace: false });
      text = await readPrivate(file);
    }
    if (text === undefined) {
      throw new Error(
        `there is no key of secrets at ${resolve(file)}; start the service once, which makes one in its data folder, or name the right file`,
      );
    }
    return new SecretKey(keysOf(text, file));
  }

  private constructor(keys: readonly Buffer[]) {
    this.#keys = keys;
  }

  /** AES-256-GCM, bound to a name: what is sealed for one opens for no other. @returns base64url. */
  seal(name: string, text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#keys[0]!, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(name));
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /** What was sealed for that name. @throws {Error} when it was not, or with none of these keys, or was changed since. */
  open(name: string, sealed: string): string {
    const bytes = Buffer.from(sealed, "base64url");
    for (const key of this.#keys) {
      const text = opened(key, name, bytes);
      if (text !== null) return text;
    }
    throw new Error("secrets are kept that none of the keys opens");
  }
}

/** It was there: secrets are kept that only it opens. */
export function lostKey(file: string): Error {
  return new Error(
    `the key of secrets at ${resolve(file)} is missing, and the secrets kept so far are encrypted with it; restore the file ` +
      "from a backup, or give those secrets up: move secrets.sqlite, secrets.sqlite-wal and secrets.sqlite-shm of the " +
      "data folder away, and the next start makes a new key",
  );
}

function opened(key: Buffer, name: string, bytes: Buffer): string | null {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const body = NONCE_BYTES + TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(name));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, body));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(body)), decipher.final()]).toString();
  } catch {
    // Of another key.
    return null;
  }
}

/** The errors name the fault and never what stands in the file: it would end in a log. */
function keysOf(text: string, file: string): Buffer[] {
  const lines = text.split("\n").map((line) => line.trim());
  const given = lines.filter((line) => line !== "");
  if (given.length === 0) throw damaged(file, "it is empty");
  if (given.length > MAX_KEYS) throw damaged(file, `it has ${given.length} lines, at most ${MAX_KEYS} are read`);
  return given.map((line, index) => {
    const key = Buffer.from(line, "base64");
    if (!LINE.test(line) || key.length !== KEY_BYTES)
      throw damaged(file, `line ${index + 1} is not 32 bytes in Base64`);
    return key;
  });
}

function damaged(file: string, fault: string): Error {
  return new Error(
    `the key of secrets in ${resolve(file)} cannot be used: ${fault}; restore the file from a backup, or put a new key there ` +
      "(openssl rand -base64 32), without which none of the secrets kept so far can be read",
  );
}
