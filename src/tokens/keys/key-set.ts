import type { CryptoKey } from "jose";

/** A key that signatures are checked with. */
export interface VerifyingKey {
  /** How tokens name it. */
  readonly kid: string;
  /** The public part, in base64url: with the name it says whether two are the same key. */
  readonly x: string;
  readonly key: CryptoKey;
}

/** The keys by name, which can be exchanged while they are used. */
export class KeySet<K extends VerifyingKey> {
  #keys: ReadonlyMap<string, K>;
  readonly #told: (() => void)[] = [];

  constructor(keys: readonly K[]) {
    this.#keys = byName(keys);
  }

  get(kid: string): K | undefined {
    return this.#keys.get(kid);
  }

  /** Whether it is this very key that the set has, and not another of its name. */
  has(key: VerifyingKey): boolean {
    return this.#keys.get(key.kid) === key;
  }

  values(): readonly K[] {
    return [...this.#keys.values()];
  }

  /** Takes these keys in place of all. One that was there stays the same object, so that what it checked stays checked. */
  replace(keys: readonly K[]): void {
    const before = this.#keys;
    this.#keys = byName(
      keys.map((key) => {
        const old = before.get(key.kid);
        return old?.x === key.x ? old : key;
      }),
    );
    if ([...before.values()].some((key) => !this.has(key))) for (const told of this.#told) told();
  }

  /** Calls when a key has gone, after it has. */
  onRemoved(told: () => void): void {
    this.#told.push(told);
  }
}

function byName<K extends VerifyingKey>(keys: readonly K[]): ReadonlyMap<string, K> {
  return new Map(keys.map((key) => [key.kid, key]));
}
