import { Problem } from "../errors.ts";
import { LimitSubject } from "../limits/limit-subject.ts";
import { parseDuration } from "../units.ts";
import type { Claims } from "./claims.ts";
import { type Isolation, isolationOf } from "./isolation.ts";
import type { VerifyingKey } from "./keys/key-set.ts";
import type { TokenStore } from "./store.ts";

/**
 * A verified token, with everything that the service derives from it. All requests of the token share one object, so the
 * service derives nothing twice. The object is frozen. Values that cost a lookup or a long text are computed at first use.
 */
export class Caller {
  readonly claims: Claims;
  /** The key that the token was signed with; null for the token of a named task, which is stored unsigned. */
  readonly key: VerifyingKey | null;
  /** The names of the keys that the token depends on: its own key, and the keys that the tokens above it were signed with. */
  readonly kids: readonly string[];
  /**
   * The `jti` of the topmost token above this one, or its own. A token and all tokens below it are one family. Shares and caps
   * count by family, so issuing more tokens multiplies nothing.
   */
  readonly family: string;
  /** The family whose quotas apply; null for an administrator, because each token that it issues starts a family. */
  readonly quotaFamily: string | null;
  /** The owner of the memory that requests of the token use. */
  readonly memory: { readonly name: string; readonly isPublic: false };
  /** The longest that a run of the token may take, in milliseconds; Infinity if only the limits of the operator apply. */
  readonly timeoutMs: number;
  readonly #store: Pick<TokenStore, "issued">;
  #limitSubject: LimitSubject | null;
  #isolation: { readonly secrets: string | null; readonly group: Isolation } | null = null;

  /** @param kids the names of the keys that it depends on in addition to its own */
  constructor(claims: Claims, key: VerifyingKey | null, kids: readonly string[], store: Pick<TokenStore, "issued">) {
    const { jti, admin, limits, timeout, parents } = claims;
    this.claims = claims;
    this.key = key;
    this.kids = Object.freeze(key === null ? [...kids] : [...new Set([key.kid, ...kids])]);
    this.family = parents.at(-1) ?? jti;
    this.quotaFamily = admin ? null : this.family;
    this.memory = Object.freeze({ name: this.family, isPublic: false });
    this.timeoutMs = timeout === null ? Infinity : parseDuration(timeout);
    this.#store = store;
    this.#limitSubject = parents.length === 0 ? new LimitSubject(jti, limits) : null;
    Object.freeze(this);
  }

  /**
   * Returns the token as the limits count it: with the limits of the tokens above it, as they were issued. Returns a promise
   * only in the first call of a token that has tokens above it.
   *
   * @throws {Problem} as a rejection: `store_unavailable` when the tokens above cannot be looked up, `token_invalid` when one
   * of them is unknown to this service, because its limits are then unknown too.
   */
  limitSubject(): LimitSubject | Promise<LimitSubject> {
    return this.#limitSubject ?? this.#withAncestors();
  }

  /**
   * Returns the group of runs that may share a guest with the runs of this token. It is the same object until the secrets
   * change.
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
      const issued = await this.#store.issued(parent);
      if (!issued) throw new Problem("token_invalid", "a token that this one descends from is unknown here", UNKNOWN);
      return { jti: parent, limits: issued.claims.limits.token };
    });
    const found = await Promise.all(ancestors);
    // Another run may have computed the subject first. Later runs must use that object, because it caches their charges.
    return (this.#limitSubject ??= new LimitSubject(jti, limits, found));
  }
}

const UNKNOWN = { hint: "Ask the issuer for a new one." };
