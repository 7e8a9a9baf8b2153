import { Problem } from "../errors.ts";
import { LimitSubject } from "../limits/limit-subject.ts";
import type { Claims } from "./claims.ts";
import { type Isolation, isolationOf } from "./isolation.ts";
import type { VerifyingKey } from "./keys/key-set.ts";
import type { TokenStore } from "./store.ts";

/**
 * A verified token, with all that the service derives from it. It is made at verification and shared by all requests of the
 * token, so nothing is derived twice. Frozen; what costs a lookup or a long text is computed at the first use.
 */
export class Caller {
  readonly claims: Claims;
  /** The key that the token was signed with; null for the token of a named task, which the service keeps unsigned. */
  readonly key: VerifyingKey | null;
  /** The names of the keys that it depends on: its own, and those that the tokens above it were signed with. */
  readonly kids: readonly string[];
  /**
   * The `jti` of the topmost token above it, or its own: a token and all tokens below it are one family. What is shared out
   * or capped is counted by families, so that issuing more tokens multiplies nothing.
   */
  readonly family: string;
  /** The family whose quotas it counts against; null for an administrator: each token it issues starts a family. */
  readonly quotaFamily: string | null;
  /** The owner of the memory that its requests take. */
  readonly memory: { readonly name: string; readonly isPublic: false };
  readonly #register: Pick<TokenStore, "issued">;
  #limitSubject: LimitSubject | null;
  #isolation: { readonly secrets: string | null; readonly group: Isolation } | null = null;

  /** @param kids the names of keys that it depends on beside its own */
  constructor(claims: Claims, key: VerifyingKey | null, kids: readonly string[], register: Pick<TokenStore, "issued">) {
    const { jti, admin, limits, parents } = claims;
    this.claims = claims;
    this.key = key;
    this.kids = Object.freeze(key === null ? [...kids] : [...new Set([key.kid, ...kids])]);
    this.family = parents.at(-1) ?? jti;
    this.quotaFamily = admin ? null : this.family;
    this.memory = Object.freeze({ name: this.family, isPublic: false });
    this.#register = register;
    this.#limitSubject = parents.length === 0 ? new LimitSubject(jti, limits) : null;
    Object.freeze(this);
  }

  /**
   * The token as the limits count it: with the limits of the tokens above it, as they were issued. At once, unless there are
   * such tokens and this is the first call.
   *
   * @throws {Problem} as a rejection: `store_unavailable` when the tokens above cannot be looked up, `token_invalid` when one
   * of them is unknown here, because then its limits are unknown too.
   */
  limitSubject(): LimitSubject | Promise<LimitSubject> {
    return this.#limitSubject ?? this.#withAncestors();
  }

  /**
   * The runs that its own runs share a guest with. The same object in every run, until the secrets change.
   *
   * @param secrets the version of the secrets that its runs receive, or null
   */
  isolationGroup(secrets: string | null): Isolation {
    if (this.#isolation?.secrets !== secrets || this.#isolation === null) {
      this.#isolation = { secrets, group: isolationOf(this.claims, secrets) };
    }
    return this.#isolation.group;
  }

  async #withAncestors(): Promise<LimitSubject> {
    const { jti, limits, parents } = this.claims;
    const ancestors = parents.map(async (parent) => {
      const issued = await this.#register.issued(parent);
      if (!issued) throw new Problem("token_invalid", "a token that this one descends from is not known here", UNKNOWN);
      return { jti: parent, limits: issued.claims.limits.token };
    });
    const found = await Promise.all(ancestors);
    // Another run may have been faster. What is computed for its subject is kept with that one.
    return (this.#limitSubject ??= new LimitSubject(jti, limits, found));
  }
}

const UNKNOWN = { hint: "Ask the issuer for a new one." };
