import { compactVerify } from "jose";

import type { Problem } from "../errors.ts";
import { Caller } from "./caller.ts";
import type { Claims } from "./claims.ts";
import { readCompact } from "./compact.ts";
import { ALGORITHM, SIGNATURE_CHARS } from "./format.ts";
import type { KeyRing } from "./keys/key-ring.ts";
import type { KeySet, VerifyingKey } from "./keys/key-set.ts";
import { claimsOf } from "./payload.ts";
import type { TokenStore } from "./store.ts";
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
  /** How many checked tokens are kept. */
  cacheSize?: number;
}

/** What the state of a token depends on, beside the time and the register. */
type Stated = Pick<Caller, "claims" | "key" | "kids">;

/** Turns token texts into callers, after RFC 7519 with the advice of RFC 8725. */
export class Verifier {
  readonly #keys: KeySet<VerifyingKey>;
  readonly #registry: Pick<TokenStore, "isRevoked" | "issued">;
  readonly #nowMs: () => number;
  readonly #cacheSize: number;
  /**
   * By signature, oldest first: V8 hashes the text of a header anew at each request, and a fifth of it is hashed in a
   * third of the time. Only what was signed here gets in, so strangers cannot push anything out.
   */
  readonly #checked = new Map<string, Checked>();
  /** Those that are being checked now. */
  readonly #checking = new Map<string, Promise<Caller>>();
  #onKeysRemoved: (hasLostKey: (caller: Caller) => boolean) => void = () => {};

  constructor(
    keys: Pick<KeyRing, "held">,
    registry: Pick<TokenStore, "isRevoked" | "issued">,
    options: VerifierOptions = {},
  ) {
    this.#keys = keys.held;
    this.#keys.onRemoved(() => this.#forgetUnsigned());
    this.#registry = registry;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#cacheSize = options.cacheSize ?? DEFAULT_CACHE_SIZE;
  }

  /**
   * The caller that a valid token stands for: at once when its signature was checked lately, otherwise as a promise. What can
   * change, its time and its revocation, is looked at in any case.
   *
   * @param mayCheck called before a token is checked that was not lately; what it throws is thrown here.
   * @throws {Problem} `token_invalid`, thrown or as a rejection, with one message a cause, none of which shows the token.
   */
  verify(token: string, mayCheck?: () => void): Caller | Promise<Caller> {
    const checked = this.#checked.get(token.slice(-SIGNATURE_CHARS));
    if (checked?.token !== token) return this.#checkOnce(token, mayCheck);
    const { caller } = checked;
    // Its keys are held: otherwise it would not be among the checked tokens.
    const state = this.#stateWithKeys(caller, "both");
    if (state !== "valid") throw this.problem(state, caller);
    return caller;
  }

  /**
   * Whether a token is valid, or why not.
   *
   * @param times which of its own times count
   * @throws {Problem} `store_unavailable` when its revocations are unknown.
   */
  stateOf(caller: Stated, times: Times = "both"): TokenState {
    if (caller.key !== null && !this.#keys.has(caller.key)) return "key-unknown";
    if (!this.#areHeld(caller.kids)) return "ancestor-key-unknown";
    return this.#stateWithKeys(caller, times);
  }

  /** What is wrong with a token in that state. */
  problem(state: Exclude<TokenState, "valid">, { claims }: Stated): Problem {
    return stateProblem(state, claims, this.#nowMs());
  }

  /** Calls when a key is no longer held, with a function that reports whether a caller depended on such a key. */
  onKeysRemoved(listener: (hasLostKey: (caller: Caller) => boolean) => void): void {
    this.#onKeysRemoved = listener;
  }

  /** Many requests may bring a token at once before it was ever seen: that is one check. */
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
        "the signature of the token does not match what it says",
        "Copy the token again, whole.",
        error,
      );
    }
    const claims = readClaims(payload);
    if (claims.task !== null) throw tokenInvalid("what stands for a named task is no credential");
    const caller = new Caller(claims, key, await this.#kidsAbove(claims), this.#registry);
    // After the signature, so that a stranger learns nothing of revocations; and after the wait, in which one can come,
    // of the token or of the key.
    const state = this.stateOf(caller);
    if (state !== "valid") throw this.problem(state, caller);
    this.#keep(token, caller);
    return caller;
  }

  /** A key that is stolen has signed tokens below which others were issued since, with the next key. */
  async #kidsAbove({ jti, parents }: Claims): Promise<readonly string[]> {
    if (parents.length === 0) return [];
    return (await this.#registry.issued(jti))?.kids ?? [];
  }

  #stateWithKeys({ claims }: Stated, times: Times): TokenState {
    const nowMs = this.#nowMs();
    if (times === "both" && isNotYetValid(claims, nowMs)) return "not-yet-valid";
    if (times !== "none" && hasExpired(claims, nowMs)) return "expired";
    if (this.#registry.isRevoked(claims.jti)) return "revoked";
    for (const parent of claims.parents) if (this.#registry.isRevoked(parent)) return "ancestor-revoked";
    return "valid";
  }

  #areHeld(kids: readonly string[]): boolean {
    return kids.every((kid) => this.#keys.get(kid) !== undefined);
  }

  /** At once and not when it is next asked for, which would cost each request a look at its key. */
  #forgetUnsigned(): void {
    const hasLostKey = ({ key, kids }: Caller): boolean => {
      return (key !== null && !this.#keys.has(key)) || !this.#areHeld(kids);
    };
    for (const [signature, { caller }] of this.#checked) if (hasLostKey(caller)) this.#checked.delete(signature);
    this.#onKeysRemoved(hasLostKey);
  }

  #keep(token: string, caller: Caller): void {
    if (this.#cacheSize === 0) return;
    if (this.#checked.size >= this.#cacheSize) {
      const [oldest] = this.#checked.keys();
      this.#checked.delete(oldest!);
    }
    // A copy, because V8 keeps the whole text that a substring was cut from: a header, or a URL of 16 KiB.
    const copy = Buffer.from(token, "latin1").toString("latin1");
    this.#checked.set(copy.slice(-SIGNATURE_CHARS), { token: copy, caller });
  }
}

interface Checked {
  readonly token: string;
  readonly caller: Caller;
}

const DEFAULT_CACHE_SIZE = 10_000;

function readClaims(payload: unknown): Claims {
  try {
    return claimsOf(payload);
  } catch (error) {
    throw tokenInvalid("the claims of the token are not those of this version of the service", undefined, error);
  }
}
