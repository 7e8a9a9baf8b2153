import { refusal } from "./decide.ts";
import { type LimitSubject, type ServerLimits, tokenCharge, tokenKey } from "./limit-subject.ts";
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

/** The limits that an administrator has set for a container. The same object until they are set anew. */
export type LimitsOf = (container: string) => Limits | undefined;

/** Decides whether a run may start: which keys it counts against, with which limits. */
export class Limiter {
  readonly #store: LimitStore;
  readonly #defaults: ServerLimits;
  readonly #policyOf: LimitsOf;

  /**
   * @param defaults the server's own limits, for every container and every token
   * @param policyOf asked at each decision: it answers from memory
   */
  constructor(store: LimitStore, defaults: ServerLimits, policyOf: LimitsOf = () => undefined) {
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
  admit(container: string, subject: LimitSubject): Promise<Decision> {
    return this.#store.admit(this.#charges(container, subject));
  }

  /**
   * Tells what `admit` would decide now, and counts nothing. It is a look: what it admits may be refused a moment later.
   *
   * @returns as `admit`.
   * @throws {Problem} `store_unavailable`
   */
  async look(container: string, subject: LimitSubject): Promise<Decision> {
    const usage = await this.#store.read(this.#charges(container, subject));
    return refusal(usage) ?? { admitted: true, usage, retryAfterMs: 0, violations: [] };
  }

  /** What is left of a container for this token. */
  container(container: string, subject: LimitSubject): Promise<KeyReading> {
    return this.#read(this.#containerCharge(container, subject));
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
    return this.#read(tokenCharge(jti, limits, this.#defaults));
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

  #charges(container: string, subject: LimitSubject): Charge[] {
    return [this.#containerCharge(container, subject), ...subject.tokenCharges(this.#defaults)];
  }

  #containerCharge(container: string, subject: LimitSubject): Charge {
    const limits = subject.containerLimits(this.#defaults, this.#policyOf(container));
    return { key: containerKey(container), class: "container", limits };
  }
}

/** No window is tracked. */
const NONE: LimitVector = limitVector();

/** Keeps a container apart from a token of the same name. */
const CONTAINER_PREFIX = "c:";

function containerKey(container: string): string {
  return `${CONTAINER_PREFIX}${container}`;
}
