import { hkdfSync } from "node:crypto";

import { type CryptoKey, importJWK } from "jose";

import { ALGORITHM } from "../token-format.ts";
import { missing, newStoredKey, readKeyFile, type StoredKey, writeKeyFile } from "./key-file.ts";
import { KeySet, type VerifyingKey } from "./key-set.ts";

/** One public key of the service, as published (RFC 7517, RFC 8037). */
export interface PublicJwk {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly kid: string;
  readonly alg: typeof ALGORITHM;
  readonly use: "sig";
}

/** A key that has signed, signs or will sign tokens. */
interface RingKey extends VerifyingKey {
  readonly published: PublicJwk;
  readonly signing: CryptoKey;
  /** The secret by which nodes with this key recognize each other. */
  readonly nodeSecret: Uint8Array;
  /** The Unix milliseconds from which on it signs; `null` if unknown. */
  readonly signsFromMs: number | null;
}

export interface OpenKeysOptions {
  /** Whether to create a key if the file does not exist, for its owner only. */
  readonly create: boolean;
  /** The clock, in Unix milliseconds. */
  readonly nowMs?: () => number;
}

/**
 * The keys that sign and verify tokens. The newest key whose time has come signs. All keys verify, so a new key does not end the
 * tokens that older keys have signed.
 */
export class KeyRing {
  readonly file: string;
  readonly #nowMs: () => number;
  /** The keys of the file, newest first. */
  #stored: readonly RingKey[];
  #ended: ReadonlySet<string> = new Set();
  /** The keys that verify. */
  readonly held: KeySet<RingKey>;

  /**
   * Reads a private JWK set, or creates one.
   *
   * @throws {Error} when the file is missing, empty, damaged or accessible to other users. The message contains the fix.
   */
  static async open(file: string, { create, nowMs = Date.now }: OpenKeysOptions): Promise<KeyRing> {
    let stored = await readKeyFile(file);
    if (stored === undefined && create) {
      // If another process has created the file first, its key counts and this one is discarded.
      await writeKeyFile(file, [await newStoredKey(nowMs())], { replace: false });
      stored = await readKeyFile(file);
    }
    if (stored === undefined) throw missing(file);
    return new KeyRing(file, await ringKeys(stored), nowMs);
  }

  private constructor(file: string, keys: readonly RingKey[], nowMs: () => number) {
    this.file = file;
    this.#nowMs = nowMs;
    this.#stored = keys;
    this.held = new KeySet(keys);
  }

  /**
   * Loads the keys that the file has now. Keys that are no longer in the file verify nothing from here on.
   *
   * @throws {Error} as `open` does; then nothing has changed.
   */
  async reload(): Promise<void> {
    const stored = await readKeyFile(this.file);
    if (stored === undefined) throw missing(this.file);
    this.#stored = await ringKeys(stored);
    this.#hold();
  }

  /** Stops holding these keys, though the file still has them. */
  end(kids: ReadonlySet<string>): void {
    this.#ended = kids;
    this.#hold();
  }

  /** The key that signs now, and its name. */
  get signing(): { readonly kid: string; readonly key: CryptoKey; readonly nodeSecret: Uint8Array } {
    const nowMs = this.#nowMs();
    const { kid, signing, nodeSecret } =
      this.#stored.find(({ signsFromMs }) => (signsFromMs ?? 0) <= nowMs) ?? this.#stored.at(-1)!;
    return { kid, key: signing, nodeSecret };
  }

  /** The keys that no longer sign, and since when, in Unix milliseconds; `null` if unknown. */
  get retired(): readonly { readonly kid: string; readonly sinceMs: number | null }[] {
    const { kid: signing } = this.signing;
    const at = this.#stored.findIndex(({ kid }) => kid === signing);
    return this.#stored.slice(at + 1).map(({ kid }, index) => {
      return { kid, sinceMs: this.#stored[at + index]!.signsFromMs };
    });
  }

  /** Returns the public parts, for `/.well-known/jwks.json`. */
  jwks(): { keys: readonly PublicJwk[] } {
    return { keys: this.held.values().map(({ published }) => published) };
  }

  #hold(): void {
    const { kid: signing } = this.signing;
    this.held.replace(this.#stored.filter(({ kid }) => kid === signing || !this.#ended.has(kid)));
  }
}

async function ringKeys(stored: readonly StoredKey[]): Promise<RingKey[]> {
  return await Promise.all(
    stored.map(async ({ kty, crv, x, kid, alg, use, d, iat, nbf }) => {
      const published: PublicJwk = Object.freeze({ kty, crv, x, kid, alg, use });
      const fromS = nbf ?? iat;
      const signsFromMs = fromS === undefined ? null : fromS * 1_000;
      const signing = await imported({ ...published, d });
      const nodeSecret = nodeSecretOf(d);
      return { kid, x, published, signing, nodeSecret, signsFromMs, key: await imported(published) };
    }),
  );
}

/**
 * Derives the secret of nodes from a private key (RFC 5869). Nodes check each other with a symmetric secret, because its check
 * is much cheaper than a signature: a stranger who sends false credentials of nodes causes no work that needs a limit.
 */
function nodeSecretOf(privatePart: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", Buffer.from(privatePart, "base64url"), "", "caisson node credential", 32));
}

/** Imports an Ed25519 key. */
async function imported(jwk: { kty: string; crv: string; x: string; d?: string }): Promise<CryptoKey> {
  const key = await importJWK({ ...jwk }, ALGORITHM);
  if (key instanceof Uint8Array) throw new TypeError("an Ed25519 key is never raw bytes");
  return key;
}
