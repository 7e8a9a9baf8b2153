import { compactVerify } from "jose";

import { Problem } from "../errors.ts";
import type { Claims } from "./claims.ts";
import { readCompact } from "./compact.ts";
import { ALGORITHM, LEEWAY_S, SIGNATURE_CHARS } from "./format.ts";
import type { KeySet, VerifyingKey } from "./key-set.ts";
import type { KeyRing } from "./keys.ts";
import { claimsOf } from "./payload.ts";
import type { TokenRegister } from "./register.ts";

export interface VerifierOptions {
  /** The clock, in Unix milliseconds. */
  nowMs?: () => number;
  /** How many checked tokens are kept. */
  cacheSize?: number;
}

/** Turns token texts into claims, after RFC 7519 with the advice of RFC 8725. */
export class Verifier {
  readonly #keys: KeySet<VerifyingKey>;
  readonly #registry: Pick<TokenRegister, "isRevoked" | "issued">;
  readonly #nowMs: () => number;
  readonly #cacheSize: number;
  /**
   * By signature, oldest first: V8 hashes the text of a header anew at each request, and a fifth of it is hashed in a
   * third of the time. Only what was signed here gets in, so strangers cannot push anything out.
   */
  readonly #checked = new Map<string, Checked>();
  /** Those that are being checked now. */
  readonly #checking = new Map<string, Promise<Claims>>();
  /** The key that each claims set was signed with. */
  readonly #signers = new WeakMap<Claims, VerifyingKey>();
  /** The names of the keys that those above it were signed with, where there are some. */
  readonly #kidsAbove = new WeakMap<Claims, readonly string[]>();
  #told: () => void = () => {};

  constructor(
    keys: Pick<KeyRing, "held">,
    registry: Pick<TokenRegister, "isRevoked" | "issued">,
    options: VerifierOptions = {},
  ) {
    this.#keys = keys.held;
    this.#keys.onRemoved(() => this.#forgetUnsigned());
    this.#registry = registry;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#cacheSize = options.cacheSize ?? DEFAULT_CACHE_SIZE;
  }

  /**
   * The claims of a valid token: at once when its signature was checked lately, else as a promise. What can change,
   * its time and its revocation, is looked at in any case.
   *
   * @param mayCheck called before a token is checked that was not lately; what it throws is thrown here.
   * @throws {Problem} `token_invalid`, thrown or as a rejection, with one message a cause, none of which shows the token.
   */
  verify(token: string, mayCheck?: () => void): Claims | Promise<Claims> {
    const checked = this.#checked.get(token.slice(-SIGNATURE_CHARS));
    if (checked?.token !== token) return this.#checkOnce(token, mayCheck);
    this.#mustBeInForce(checked.claims);
    return checked.claims;
  }

  /** What can change of a token that was checked. @throws {Problem} `token_invalid`, `store_unavailable`. */
  mustBeInForce(claims: Claims): void {
    if (!this.#isOwnHeld(claims)) throw unknownKey();
    if (!this.#areHeldAbove(claims)) throw unknownKeyAbove();
    this.#mustBeInForce(claims);
  }

  /** Whether the keys that the token was signed with, and those above it, are still held. That of a task was signed with none. */
  isSigned(claims: Claims): boolean {
    return this.#isOwnHeld(claims) && this.#areHeldAbove(claims);
  }

  /** The names of the keys that a token, which was checked here, and those above it were signed with. */
  kidsOf(claims: Claims): readonly string[] {
    const signer = this.#signers.get(claims);
    return [...new Set([...(signer ? [signer.kid] : []), ...(this.#kidsAbove.get(claims) ?? [])])];
  }

  /** Says what the token of a task hangs on: it ends with the keys that those above it were signed with. */
  hangOn(claims: Claims, kids: readonly string[]): void {
    if (kids.length > 0) this.#kidsAbove.set(claims, kids);
  }

  /** Calls when a key is held no more, so that `isSigned` may have changed. */
  onKeysRemoved(told: () => void): void {
    this.#told = told;
  }

  /** Many requests may bring a token at once before it was ever seen: that is one check. */
  #checkOnce(token: string, mayCheck?: () => void): Promise<Claims> {
    let checking = this.#checking.get(token);
    if (!checking) {
      mayCheck?.();
      checking = this.#check(token).finally(() => this.#checking.delete(token));
      this.#checking.set(token, checking);
    }
    return checking;
  }

  async #check(token: string): Promise<Claims> {
    const { kid, payload } = readCompact(token);
    const key = this.#keys.get(kid);
    if (!key) throw unknownKey();
    try {
      await compactVerify(token, key.key, { algorithms: [ALGORITHM] });
    } catch (error) {
      throw invalid("the signature of the token does not match what it says", "Copy the token again, whole.", error);
    }
    const claims = readClaims(payload);
    if (claims.task !== null) throw invalid("what stands for a named task is no credential", ASK_HERE);
    this.#signers.set(claims, key);
    if (claims.parents.length > 0) await this.#lookAbove(claims);
    // After the signature, so that a stranger learns nothing of revocations; and after the wait, in which one can come,
    // of the token or of the key.
    this.mustBeInForce(claims);
    this.#keep(token, claims);
    return claims;
  }

  #mustBeInForce(claims: Claims): void {
    const nowMs = this.#nowMs();
    if (claims.nbf !== null && nowMs < (claims.nbf - LEEWAY_S) * 1_000) {
      throw invalid(`the token becomes valid in ${Math.ceil(claims.nbf - nowMs / 1_000)} s`, "Wait until then.");
    }
    this.#mustNotBeOver(claims);
  }

  /** How the token has ended. @throws {Problem} `store_unavailable` when that is not known. */
  endOf(claims: Claims): { expired: boolean; revoked: boolean } {
    const isRevoked = [claims.jti, ...claims.parents].some((jti) => this.#registry.isRevoked(jti));
    const revoked = isRevoked || !this.#areHeldAbove(claims);
    return { expired: this.#hasExpired(claims), revoked };
  }

  /** As `mustBeInForce`, also for a token that is not valid yet, and for one that was not checked here. */
  mustNotHaveEnded(claims: Claims): void {
    if (!this.#areHeldAbove(claims)) throw unknownKeyAbove();
    this.#mustNotBeOver(claims);
  }

  #mustNotBeOver(claims: Claims): void {
    if (this.#hasExpired(claims)) {
      throw invalid(`the token expired ${Math.floor(this.#nowMs() / 1_000 - claims.exp!)} s ago`, ASK_HERE);
    }
    if (this.#registry.isRevoked(claims.jti)) throw invalid("the token was revoked", ASK_HERE);
    for (const parent of claims.parents) {
      if (this.#registry.isRevoked(parent)) throw invalid("a token that this one descends from was revoked", ASK_HERE);
    }
  }

  #hasExpired({ exp }: Claims): boolean {
    return exp !== null && this.#nowMs() >= (exp + LEEWAY_S) * 1_000;
  }

  /** A key that is stolen has signed tokens below which others were issued since, with the next key. */
  async #lookAbove(claims: Claims): Promise<void> {
    const issued = await this.#registry.issued(claims.jti);
    if (issued) this.hangOn(claims, issued.kids);
  }

  #isOwnHeld(claims: Claims): boolean {
    const signer = this.#signers.get(claims);
    return claims.task !== null || (signer !== undefined && this.#keys.has(signer));
  }

  #areHeldAbove(claims: Claims): boolean {
    const kids = this.#kidsAbove.get(claims);
    return kids === undefined || kids.every((kid) => this.#keys.get(kid) !== undefined);
  }

  /** At once and not when it is next asked for, which would cost each request a look at its key. */
  #forgetUnsigned(): void {
    for (const [signature, { claims }] of this.#checked) if (!this.isSigned(claims)) this.#checked.delete(signature);
    this.#told();
  }

  #keep(token: string, claims: Claims): void {
    if (this.#cacheSize === 0) return;
    if (this.#checked.size >= this.#cacheSize) {
      const [oldest] = this.#checked.keys();
      this.#checked.delete(oldest!);
    }
    // A copy, because V8 keeps the whole text that a substring was cut from: a header, or a URL of 16 KiB.
    const copy = Buffer.from(token, "latin1").toString("latin1");
    this.#checked.set(copy.slice(-SIGNATURE_CHARS), { token: copy, claims });
  }
}

interface Checked {
  token: string;
  claims: Claims;
}

const DEFAULT_CACHE_SIZE = 10_000;
const ASK_HERE = "Ask an administrator of this service for a new one.";

function readClaims(payload: unknown): Claims {
  try {
    return claimsOf(payload);
  } catch (error) {
    throw invalid("the claims of the token are not those of this version of the service", ASK_HERE, error);
  }
}

function unknownKey(): Problem {
  return invalid("the token is signed with a key that this service does not hold", ASK_HERE);
}

function unknownKeyAbove(): Problem {
  return invalid("a token that this one descends from is signed with a key that this service does not hold", ASK_HERE);
}

function invalid(detail: string, hint: string, cause?: unknown): Problem {
  return new Problem("token_invalid", detail, { hint, cause });
}
