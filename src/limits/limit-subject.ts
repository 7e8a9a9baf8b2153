import type { Charge } from "./store.ts";
import { limitVector, type Limits, type LimitVector, WINDOW_NAMES } from "./windows.ts";

/** The limits that a token brings: for the container it runs in, and for itself. */
export interface SubjectLimits {
  readonly container?: Limits | undefined;
  readonly token?: Limits | undefined;
}

/** A token above another, with its own token limits. Each run below it is counted against it too. */
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
 * How many tasks a token can run in turns before the service computes their charges again. Each task takes one to three
 * kilobytes for each token, and a family may have thousands of both.
 */
const MAX_TASKS = 64;

/**
 * A verified token as the limiter counts it. It is the same object in every run of the token, so it keeps all that is
 * computed for these runs.
 */
export class LimitSubject {
  readonly jti: string;
  readonly limits: SubjectLimits;
  /** Nearest first. */
  readonly ancestors: readonly Ancestor[];
  /** What the caps of tokens are counted by. Only `TokenQuotas` writes it. */
  lineage: unknown = null;
  #charges: Charges | null = null;
  #taskRuns: Map<LimitSubject, LimitSubject> | null = null;

  constructor(jti: string, limits: SubjectLimits, ancestors: readonly Ancestor[] = []) {
    this.jti = jti;
    this.limits = limits;
    this.ancestors = ancestors;
  }

  /**
   * The charges of a run against the token and those above it.
   *
   * @param defaults the same object in every call of one limiter
   * @throws {TypeError} when one token is among them twice.
   */
  tokenCharges(defaults: ServerLimits): readonly Charge[] {
    return this.#under(defaults).tokens;
  }

  /**
   * The limits in force in a container.
   *
   * @param policy the limits that an administrator has set for the container: the same object until they are set anew
   */
  containerLimits(defaults: ServerLimits, policy: Limits | undefined): LimitVector {
    const charges = this.#under(defaults);
    if (policy === undefined) return charges.container;
    // Kept as one object, by which the headers detect that nothing has changed since the last run.
    if (charges.policy !== policy) {
      charges.policy = policy;
      charges.underPolicy = limitVector(defaults.container, policy, this.limits.container);
    }
    return charges.underPolicy;
  }

  /**
   * The subject of a task's runs that this token asks for: they count against the token of the task and all above it, and
   * against this token and all above it.
   */
  ofTask(task: LimitSubject): LimitSubject {
    this.#taskRuns ??= new Map();
    let both = this.#taskRuns.get(task);
    if (!both) {
      if (this.#taskRuns.size >= MAX_TASKS) this.#taskRuns.delete(this.#taskRuns.keys().next().value!);
      this.#taskRuns.set(task, (both = this.#joined(task)));
    }
    return both;
  }

  #joined({ jti, limits, ancestors }: LimitSubject): LimitSubject {
    const chain = [...ancestors, { jti: this.jti, limits: this.limits.token }, ...this.ancestors];
    // A token that keeps a task can also run it: it is counted once.
    const above = chain.filter((one, at) => chain.findIndex((each) => each.jti === one.jti) === at);
    const container = smaller(limits.container, this.limits.container);
    return new LimitSubject(jti, { container, token: limits.token }, above);
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

/** What is the same for every run. */
interface Charges {
  readonly defaults: ServerLimits;
  /** In a container without a policy. */
  readonly container: LimitVector;
  /** Of the container with a policy that was used last: most tokens are used in one. */
  policy: Limits | null;
  underPolicy: LimitVector;
  readonly tokens: readonly Charge[];
}

/** @param limits those of the token's claim */
export function tokenCharge(jti: string, limits: Limits | undefined, defaults: ServerLimits): Charge {
  return { key: tokenKey(jti), class: "token", limits: limitVector(defaults.token, limits) };
}

/** The key of a token's count. */
export function tokenKey(jti: string): string {
  return `t:${jti}`;
}

function smaller(one: Limits = {}, other: Limits = {}): Limits {
  const limits: { -readonly [Window in keyof Limits]: number } = {};
  for (const window of WINDOW_NAMES) {
    const limit = Math.min(one[window] ?? Infinity, other[window] ?? Infinity);
    if (limit !== Infinity) limits[window] = limit;
  }
  return limits;
}
