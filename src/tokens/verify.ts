import { compactVerify } from "jose";

import { ByteCache } from "../byte-cache.ts";
import type { Problem } from "../errors.ts";
import { Caller } from "./caller.ts";
import type { Claims } from "./claims.ts";
import { readCompact } from "./compact.ts";
import type { KeyRing } from "./keys/key-ring.ts";
import type { KeySet, VerifyingKey } from "./keys/key-set.ts";
import { claimsOf } from "./payload.ts";
import type { TokenStore } from "./store.ts";
import { ALGORITHM, SIGNATURE_CHARS } from "./token-format.ts";
import {
  hasExpired,
  isNotYetValid,
  keyUnknown,
  stateProblem,
  type Times,
  tokenInvalid,
  type TokenState,
} from "./token-state.ts";

export interface VerifierOptions {
  /** The clock, in Unix milliseconds. */
  nowMs?: () => number;
  /** The memory of the cache of checked tokens, in estimated bytes. */
  cacheBytes?: number;
}

/** The parts of a caller on which its state depends, in addition to the time and the store. */
type StatedCaller = Pick<Caller, "claims" | "key" | "kids">;

/** Converts token texts into callers, following RFC 7519 and the advice of RFC 8725. */
export class Verifier {
  readonly #keys: KeySet<VerifyingKey>;
  readonly #store: Pick<TokenStore, "isRevoked" | "issued">;
  readonly #nowMs: () => number;
  /**
   * The checked tokens by signature. V8 hashes the text of a header again at each request. The signature is a
   * fifth of that text and takes a third of the time. Only signed tokens enter the cache, so strangers cannot evict them, and a
   * family that issues many evicts its own.
   */
  readonly #checked: ByteCache<Checked>;
  /** The checks in progress, by token. */
  readonly #checking = new Map<string, Promise<Caller>>();
  readonly #keyListeners: ((hasLostKey: (caller: Caller) => boolean) => void)[] = [];

  constructor(
    keys: Pick<KeyRing, "held">,
    store: Pick<TokenStore, "isRevoked" | "issued">,
    options: VerifierOptions = {},
  ) {
    this.#keys = keys.held;
    this.#keys.onRemoved(() => this.#dropUnheld());
    this.#store = store;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#checked = new ByteCache(options.cacheBytes ?? CACHE_BYTES);
  }

  /**
   * Returns the caller of a valid token: at once if its signature was checked recently, otherwise as a promise. The times and
   * the revocation of the token can change, so every call checks them.
   *
   * @param mayCheck called before the check of a token that is not in the cache; its error is thrown here
   * @throws {Problem} `token_invalid`, thrown or as a rejection, with one message for each cause. No message contains the token.
   */
  verify(token: string, mayCheck?: () => void): Caller | Promise<Caller> {
    const checked = this.#checked.get(token.slice(-SIGNATURE_CHARS));
    if (checked?.token !== token) return this.#checkOnce(token, mayCheck);
    const { caller } = checked;
    // Its keys are held: otherwise the token would not be in the cache.
    const state = this.#stateWithKeys(caller, "both");
    if (state !== "valid") throw this.problem(state, caller);
    return caller;
  }

  /**
   * Returns the state of a token.
   *
   * @param times the times of the token that the check considers
   * @throws {Problem} `store_unavailable` when its revocations are unknown.
   */
  stateOf(caller: StatedCaller, times: Times = "both"): TokenState {
    if (caller.key !== null && !this.#keys.has(caller.key)) return "key-unknown";
    if (!this.#areHeld(caller.kids)) return "ancestor-key-unknown";
    return this.#stateWithKeys(caller, times);
  }

  /** Returns the problem for a token in that state. */
  problem(state: Exclude<TokenState, "valid">, { claims }: StatedCaller): Problem {
    return stateProblem(state, claims, this.#nowMs());
  }

  /** Calls each listener when a key is no longer held, with a function that reports whether a caller depended on the key. */
  onKeysRemoved(listener: (hasLostKey: (caller: Caller) => boolean) => void): void {
    this.#keyListeners.push(listener);
  }

  /** Checks a token once if many requests with it arrive before the first check ends. */
  #checkOnce(token: string, mayCheck?: () => void): Promise<Caller> {
    let checking = this.#checking.get(token);
    if (!checking) {
      mayCheck?.();
      checking = this.#check(token).finally(() => this.#checking.delete(token));
      this.#checking.set(token, checking);
    }
    return checking;
  }

  async #check(token: string): Promise<Caller> {
    const { kid, payload } = readCompact(token);
    const key = this.#keys.get(kid);
    if (!key) throw keyUnknown();
    try {
      await compactVerify(token, key.key, { algorithms: [ALGORITHM] });
    } catch (error) {
      throw tokenInvalid(
        "the signature of the token does not match its content",
        "Copy the token again, whole.",
        error,
      );
    }
    const claims = readClaims(payload);
    if (claims.task !== null) throw tokenInvalid("the token of a named task is not a credential");
    const caller = new Caller(claims, key, await this.#kidsAbove(claims), this.#store);
    // After the signature check, so that a stranger learns nothing about revocations. After the lookup too, because the token or
    // its key may be revoked during it.
    const state = this.stateOf(caller);
    if (state !== "valid") throw this.problem(state, caller);
    this.#cache(token, caller);
    return caller;
  }

  /** Returns the keys of the tokens above. A stolen key may have signed a token whose descendants a newer key has signed. */
  async #kidsAbove({ jti, parents }: Claims): Promise<readonly string[]> {
    if (parents.length === 0) return [];
    return (await this.#store.issued(jti))?.kids ?? [];
  }

  #stateWithKeys({ claims }: StatedCaller, times: Times): TokenState {
    const nowMs = this.#nowMs();
    if (times === "both" && isNotYetValid(claims, nowMs)) return "not-yet-valid";
    if (times !== "none" && hasExpired(claims, nowMs)) return "expired";
    if (this.#store.isRevoked(claims.jti)) return "revoked";
    for (const parent of claims.parents) if (this.#store.isRevoked(parent)) return "ancestor-revoked";
    return "valid";
  }

  #areHeld(kids: readonly string[]): boolean {
    return kids.every((kid) => this.#keys.get(kid) !== undefined);
  }

  /** Removes affected tokens from the cache at once. A check at each use would cost each request a lookup of its key. */
  #dropUnheld(): void {
    const hasLostKey = ({ key, kids }: Caller): boolean => {
      return (key !== null && !this.#keys.has(key)) || !this.#areHeld(kids);
    };
    this.#checked.removeIf(({ caller }) => hasLostKey(caller));
    for (const listener of this.#keyListeners) listener(hasLostKey);
  }

  #cache(token: string, caller: Caller): void {
    // A copy, because V8 retains the whole text behind a substring: a header, or a URL of 16 KiB.
    const copy = Buffer.from(token, "latin1").toString("latin1");
    const signature = copy.slice(-SIGNATURE_CHARS);
    this.#checked.add(signature, { token: copy, caller }, copy.length * BYTES_PER_CHAR, caller.family);
  }
}

interface Checked {
  readonly token: string;
  readonly caller: Caller;
}

/** The memory of checked tokens. Usual tokens have 500 characters, so about ten thousand fit. */
const CACHE_BYTES = 64 * 2 ** 20;
/** The estimated memory for each character of a token: params of empty lists take the most, twelve bytes a character. */
const BYTES_PER_CHAR = 12;

function readClaims(payload: unknown): Claims {
  try {
    return claimsOf(payload);
  } catch (error) {
    throw tokenInvalid("the claims of the token are not those of this version of the service", undefined, error);
  }
}
