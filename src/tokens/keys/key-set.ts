import type { CryptoKey } from "jose";

/** A key that verifies signatures. */
export interface VerifyingKey {
  /** The name of the key in tokens. */
  readonly kid: string;
  /** The public part, in base64url. Two keys are the same if their names and public parts are equal. */
  readonly x: string;
  readonly key: CryptoKey;
}

/** The keys by name. They can be replaced while they are in use. */
export class KeySet<K extends VerifyingKey> {
  #keys: ReadonlyMap<string, K>;
  readonly #listeners: (() => void)[] = [];

  constructor(keys: readonly K[]) {
    this.#keys = byName(keys);
  }

  get(kid: string): K | undefined {
    return this.#keys.get(kid);
  }

  /** Returns whether the set has this very key, and not another key with its name. */
  has(key: VerifyingKey): boolean {
    return this.#keys.get(key.kid) === key;
  }

  values(): readonly K[] {
    return [...this.#keys.values()];
  }

  /** Replaces all keys. A key that was in the set keeps its object, so that tokens checked with it stay checked. */
  replace(keys: readonly K[]): void {
    const before = this.#keys;
    this.#keys = byName(
      keys.map((key) => {
        const old = before.get(key.kid);
        return old?.x === key.x ? old : key;
      }),
    );
    if ([...before.values()].some((key) => !this.has(key))) for (const listener of this.#listeners) listener();
  }

  /** Calls the listener after a key was removed. */
  onRemoved(listener: () => void): void {
    this.#listeners.push(listener);
  }
}

function byName<K extends VerifyingKey>(keys: readonly K[]): ReadonlyMap<string, K> {
  return new Map(keys.map((key) => [key.kid, key]));
}
