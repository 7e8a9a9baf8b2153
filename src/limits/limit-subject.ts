import type { Charge } from "./store.ts";
import { limitVector, type Limits, type LimitVector, WINDOW_NAMES } from "./windows.ts";

/** The limits that a token brings: for the container it runs in, and for itself. */
export interface SubjectLimits {
  readonly container?: Limits | undefined;
  readonly token?: Limits | undefined;
}

/** A token above another, with its own token limits. Each run of the token below also counts against it. */
export interface Ancestor {
  readonly jti: string;
  readonly limits: Limits | undefined;
}

/** The limits of the server, for every container and every token. */
export interface ServerLimits {
  readonly container: Limits;
  readonly token: Limits;
}

/**
 * The number of tasks for which a token keeps the computed charges. With more tasks in rotation the service computes them
 * again. Each task takes one to three kilobytes for each token, and a token family may have thousands of both.
 */
const MAX_TASKS = 16;

/**
 * A verified token as the limiter counts it. Every run of the token uses the same object, so the object caches what is
 * computed for these runs.
 */
export class LimitSubject {
  readonly jti: string;
  readonly limits: SubjectLimits;
  /** The tokens above this one, nearest first. */
  readonly ancestors: readonly Ancestor[];
  /** How many tokens, from this one on, are of the owner of a task that a caller of another family runs. */
  readonly foreign: number;
  /** The lineage by which `TokenQuotas` counts; only `TokenQuotas` writes it. */
  lineage: unknown = null;
  #charges: Charges | null = null;
  #taskRuns: Map<LimitSubject, LimitSubject> | null = null;

  constructor(jti: string, limits: SubjectLimits, ancestors: readonly Ancestor[] = [], foreign = 0) {
    this.jti = jti;
    this.limits = limits;
    this.ancestors = ancestors;
    this.foreign = foreign;
  }

  /**
   * Returns the charges of a run against the token and the tokens above it.
   *
   * @param defaults the limits of the server: the same object in every call of one limiter
   * @throws {TypeError} when one token is among them twice.
   */
  tokenCharges(defaults: ServerLimits): readonly Charge[] {
    return this.#under(defaults).tokens;
  }

  /**
   * Returns the limits in force in a container.
   *
   * @param policy the limits that an administrator has set for the container: the same object until a policy change
   */
  containerLimits(defaults: ServerLimits, policy: Limits | undefined): LimitVector {
    const charges = this.#under(defaults);
    if (policy === undefined) return charges.container;
    // The same vector each time: the headers compare the object to detect that nothing has changed since the last run.
    if (charges.policy !== policy) {
      charges.policy = policy;
      charges.underPolicy = limitVector(defaults.container, policy, this.limits.container);
    }
    return charges.underPolicy;
  }

  /**
   * Returns the subject of a task's runs that this token requests. They count against the token of the task, this token, and
   * all tokens above either.
   */
  ofTask(task: LimitSubject): LimitSubject {
    this.#taskRuns ??= new Map();
    let joined = this.#taskRuns.get(task);
    if (!joined) {
      if (this.#taskRuns.size >= MAX_TASKS) this.#taskRuns.delete(this.#taskRuns.keys().next().value!);
      this.#taskRuns.set(task, (joined = this.#join(task)));
    }
    return joined;
  }

  #join(task: LimitSubject): LimitSubject {
    const { jti, limits, ancestors } = task;
    const chain = [...ancestors, { jti: this.jti, limits: this.limits.token }, ...this.ancestors];
    // A token that owns a task can also run it; then both chains name it, and the run counts against it once. The last place counts,
    // so that the last token is the root of the caller's family.
    const above = chain.filter((token, at) => chain.findLastIndex((other) => other.jti === token.jti) === at);
    const container = lowest(limits.container, this.limits.container);
    // The task of an administrator belongs to no family.
    const isForeign = ancestors.length > 0 && rootOf(task) !== rootOf(this);
    return new LimitSubject(jti, { container, token: limits.token }, above, isForeign ? 1 + ancestors.length : 0);
  }

  #under(defaults: ServerLimits): Charges {
    if (this.#charges?.defaults !== defaults) this.#charges = this.#compute(defaults);
    return this.#charges;
  }

  #compute(defaults: ServerLimits): Charges {
    const tokens = [tokenCharge(this.jti, this.limits.token, defaults)];
    for (const { jti, limits } of this.ancestors) tokens.push(tokenCharge(jti, limits, defaults));
    if (new Set(tokens.map((charge) => charge.key)).size < tokens.length) {
      throw new TypeError(`token "${this.jti}" and the tokens above it name one token twice`);
    }
    const container = limitVector(defaults.container, this.limits.container);
    return { defaults, container, policy: null, underPolicy: container, tokens };
  }
}

/** The charges that are the same in every run. */
interface Charges {
  readonly defaults: ServerLimits;
  /** The limits in a container without a policy. */
  readonly container: LimitVector;
  /** The policy of the last container with a policy, and the limits under it. One is enough: most tokens use one container. */
  policy: Limits | null;
  underPolicy: LimitVector;
  readonly tokens: readonly Charge[];
}

/** @param limits the limits in the token's claim */
export function tokenCharge(jti: string, limits: Limits | undefined, defaults: ServerLimits): Charge {
  return { key: tokenKey(jti), class: "token", limits: limitVector(defaults.token, limits) };
}

/** The key of a token's count. */
export function tokenKey(jti: string): string {
  return `t:${jti}`;
}

function rootOf({ jti, ancestors }: LimitSubject): string {
  return ancestors.at(-1)?.jti ?? jti;
}

function lowest(one: Limits = {}, other: Limits = {}): Limits {
  const limits: { -readonly [Window in keyof Limits]: number } = {};
  for (const window of WINDOW_NAMES) {
    const limit = Math.min(one[window] ?? Infinity, other[window] ?? Infinity);
    if (limit !== Infinity) limits[window] = limit;
  }
  return limits;
}
