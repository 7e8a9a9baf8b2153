import { refusal } from "./decide.ts";
import { limitVector, type Limits, type LimitVector, type WindowName } from "./windows.ts";

export type KeyClass = "container" | "token";

/** One key that a run is counted against, and the limits that apply to it in this run. */
export interface Charge {
  readonly key: string;
  readonly class: KeyClass;
  readonly limits: LimitVector;
}

/** What is left of one key. The arrays hold six numbers in the order of `WINDOW_NAMES`, 0 where it is not tracked. */
export interface KeyUsage {
  readonly class: KeyClass;
  readonly limits: LimitVector;
  /** Runs that would be admitted now. */
  readonly remaining: readonly number[];
  /** Milliseconds until `remaining` next grows; 0 when nothing is used. */
  readonly resetMs: readonly number[];
}

/** What is left of one key, and what has been used of it. */
export interface KeyReading extends KeyUsage {
  /** Runs that count now, also where no limit is tracked; above the limit where it was lowered. */
  readonly used: readonly number[];
}

/** A window that has nothing left. */
export interface Violation {
  readonly class: KeyClass;
  readonly window: WindowName;
  readonly limit: number;
  readonly remaining: number;
  /** Until this window admits a run again. */
  readonly retryAfterMs: number;
}

export interface Decision {
  readonly admitted: boolean;
  /** After the decision, in the order of the charges. */
  readonly usage: readonly KeyUsage[];
  /** 0 when admitted. Else exact: a run is admitted after so long if nobody else spends it, and not 1 ms earlier. */
  readonly retryAfterMs: number;
  readonly violations: readonly Violation[];
}

/** Where the counts are kept. Every store passes the one conformance suite. */
export interface LimitStore {
  /**
   * Counts one run against all the keys on all six windows, or against none. Resolves when the count is kept.
   *
   * @throws {Problem} `store_unavailable` when it cannot be kept: then nothing is counted, and nothing may run.
   */
  admit(charges: readonly Charge[]): Promise<Decision>;
  /** What is left of each key, at one time. Makes no state. */
  read(charges: readonly Charge[]): Promise<KeyReading[]>;
  /** Clears all six windows of a key at once. */
  reset(key: string): Promise<void>;
  /**
   * The keys that begin with `prefix` and count at least one run, at most `count` of them: the first ones after `after`,
   * by their UTF-16 code units. Keys that come or go meanwhile may be missing or there.
   */
  keys(prefix: string, after: string, count: number): Promise<string[]>;
  close(): Promise<void>;
}

/** A verified token as the limiter sees it. */
export interface Holder {
  readonly jti: string;
  readonly limits: { readonly container?: Limits | undefined; readonly token?: Limits | undefined };
  /** The tokens above it, with their own token limits. A run is counted against them too. */
  readonly parents: readonly { readonly jti: string; readonly limits: Limits | undefined }[];
}

/** The limits that an administrator has set for a container. The same object until they are set anew. */
export type LimitsOf = (container: string) => Limits | undefined;

/** What is the same for every run of a holder. */
interface Account {
  /** In a container of which nothing is set. */
  readonly container: LimitVector;
  /** In the container with limits of its own that was used last: most tokens are used in one. */
  underPolicy: { readonly policy: Limits; readonly limits: LimitVector } | null;
  readonly tokens: readonly Charge[];
}

/** Decides whether a run may start: which keys it counts against, with which limits. */
export class Limiter {
  readonly #store: LimitStore;
  readonly #defaults: { container: Limits; token: Limits };
  readonly #policyOf: LimitsOf;
  /** Tokens are verified once and used often: their holder is the same object in every run. */
  readonly #accounts = new WeakMap<Holder, Account>();

  /**
   * @param defaults the server's own limits, for every container and every token
   * @param policyOf asked at each decision: it answers from memory
   */
  constructor(store: LimitStore, defaults: { container: Limits; token: Limits }, policyOf: LimitsOf = () => undefined) {
    this.#store = store;
    this.#defaults = defaults;
    this.#policyOf = policyOf;
  }

  /**
   * Counts a run against its container, its token and the tokens above it, or refuses it and counts nothing.
   *
   * @returns the use of the container first, then of the token, then of its parents
   * @throws {Problem} `store_unavailable` when the run cannot be counted.
   */
  admit(container: string, holder: Holder): Promise<Decision> {
    const account = this.#account(holder);
    return this.#store.admit([this.#containerCharge(container, holder, account), ...account.tokens]);
  }

  /**
   * Tells what `admit` would decide now, and counts nothing. It is a look: what it admits may be refused a moment later.
   *
   * @returns as `admit`.
   * @throws {Problem} `store_unavailable`
   */
  async look(container: string, holder: Holder): Promise<Decision> {
    const account = this.#account(holder);
    const usage = await this.#store.read([this.#containerCharge(container, holder, account), ...account.tokens]);
    return refusal(usage) ?? { admitted: true, usage, retryAfterMs: 0, violations: [] };
  }

  /** What is left of a container for this token. */
  container(container: string, holder: Holder): Promise<KeyReading> {
    return this.#read(this.#containerCharge(container, holder, this.#account(holder)));
  }

  /** What has been used of a container, whatever limits it. */
  use(container: string): Promise<KeyReading> {
    return this.#read({ key: containerKey(container), class: "container", limits: NONE });
  }

  /** The names of containers that runs count against, the first `count` after `after`, in order. */
  async containers(after: string, count: number): Promise<string[]> {
    const keys = await this.#store.keys(CONTAINER_PREFIX, containerKey(after), count);
    return keys.map((key) => key.slice(CONTAINER_PREFIX.length));
  }

  /** What is left of a token. `limits` are those of its claim. */
  token(jti: string, limits: Limits | undefined): Promise<KeyReading> {
    return this.#read(this.#tokenCharge(jti, limits));
  }

  /** Clears the use of a container. Audit is the caller's. */
  resetContainer(container: string): Promise<void> {
    return this.#store.reset(containerKey(container));
  }

  /** Clears the use of a token. Audit is the caller's. */
  resetToken(jti: string): Promise<void> {
    return this.#store.reset(tokenKey(jti));
  }

  async #read(charge: Charge): Promise<KeyReading> {
    const [reading] = await this.#store.read([charge]);
    return reading!;
  }

  #account(holder: Holder): Account {
    let account = this.#accounts.get(holder);
    if (!account) {
      const tokens = [this.#tokenCharge(holder.jti, holder.limits.token)];
      for (const parent of holder.parents) tokens.push(this.#tokenCharge(parent.jti, parent.limits));
      if (new Set(tokens.map((charge) => charge.key)).size < tokens.length) {
        throw new TypeError(`token "${holder.jti}" and the tokens above it name one token twice`);
      }
      const container = limitVector(this.#defaults.container, holder.limits.container);
      account = { container, underPolicy: null, tokens };
      this.#accounts.set(holder, account);
    }
    return account;
  }

  #containerCharge(container: string, holder: Holder, account: Account): Charge {
    const policy = this.#policyOf(container);
    const limits = policy ? this.#underPolicy(policy, holder, account) : account.container;
    return { key: containerKey(container), class: "container", limits };
  }

  /** Kept as one object, by which the headers know that nothing has changed since the last run. */
  #underPolicy(policy: Limits, holder: Holder, account: Account): LimitVector {
    if (account.underPolicy?.policy !== policy) {
      const limits = limitVector(this.#defaults.container, policy, holder.limits.container);
      account.underPolicy = { policy, limits };
    }
    return account.underPolicy.limits;
  }

  #tokenCharge(jti: string, limits: Limits | undefined): Charge {
    return { key: tokenKey(jti), class: "token", limits: limitVector(this.#defaults.token, limits) };
  }
}

/** No window is tracked. */
const NONE: LimitVector = limitVector();

/** Keeps a container apart from a token of the same name. */
const CONTAINER_PREFIX = "c:";

function containerKey(container: string): string {
  return `${CONTAINER_PREFIX}${container}`;
}

function tokenKey(jti: string): string {
  return `t:${jti}`;
}
