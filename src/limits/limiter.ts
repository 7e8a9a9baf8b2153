import { nextTurn } from "../next-turn.ts";
import { refusal } from "./decide.ts";
import { type LimitSubject, type ServerLimits, tokenCharge, tokenKey } from "./limit-subject.ts";
import type { Charge, Decision, KeyReading, LimitStore } from "./store.ts";
import { limitVector, type Limits, type LimitVector } from "./windows.ts";

/** Returns the limits that an administrator has set for a container: the same object until a policy change. */
export type LimitsOf = (container: string) => Limits | undefined;

/** Decides whether a run may start. Chooses the keys that the run counts against, and their limits. */
export class Limiter {
  readonly #store: LimitStore;
  readonly #defaults: ServerLimits;
  readonly #policyOf: LimitsOf;

  /**
   * @param defaults the limits of the server, for every container and every token
   * @param policyOf called at each decision; it answers from memory
   */
  constructor(store: LimitStore, defaults: ServerLimits, policyOf: LimitsOf = () => undefined) {
    this.#store = store;
    this.#defaults = defaults;
    this.#policyOf = policyOf;
  }

  /**
   * Counts a run against its container, its token and the tokens above it, or refuses it and counts nothing.
   *
   * @returns the decision, with the use of the container first, then of the token, then of its parents.
   * @throws {Problem} `store_unavailable` when the run cannot be counted.
   */
  admit(container: string, subject: LimitSubject): Promise<Decision> {
    return this.#store.admit(this.#charges(container, subject));
  }

  /**
   * Returns the decision that `admit` would make now, and counts nothing. Another run may take the place before `admit`.
   *
   * @returns as `admit`.
   * @throws {Problem} `store_unavailable` when the counts cannot be read.
   */
  async look(container: string, subject: LimitSubject): Promise<Decision> {
    const usage = await this.#store.read(this.#charges(container, subject));
    return refusal(usage) ?? { admitted: true, usage, retryAfterMs: 0, violations: [] };
  }

  /** Returns what is left of a container for this token. */
  container(container: string, subject: LimitSubject): Promise<KeyReading> {
    return this.#read(this.#containerCharge(container, subject));
  }

  /** Returns the use of each of these containers, whatever its limits. @param holder the `holder` argument of `nextTurn` */
  async uses(containers: readonly string[], holder: string): Promise<KeyReading[]> {
    const uses: KeyReading[] = [];
    for (let at = 0; at < containers.length; at += USES_PER_READ) {
      await nextTurn(holder);
      const some = containers.slice(at, at + USES_PER_READ).map((container) => useOf(container));
      uses.push(...(await this.#store.read(some, holder)));
    }
    return uses;
  }

  /** Returns the containers of a list that runs count against. @param holder the `holder` argument of `nextTurn` */
  async counted(containers: readonly string[], holder: string): Promise<string[]> {
    const uses = await this.uses(containers, holder);
    return containers.filter((_, at) => uses[at]!.used.some((runs) => runs > 0));
  }

  /**
   * Returns the names of containers that runs count against: the first `count` after `after`, in order.
   *
   * @param prefixes the beginnings of the names; without it, all names
   * @param holder the `holder` argument of `nextTurn`
   */
  async containers(
    after: string,
    count: number,
    prefixes: readonly string[] = [""],
    holder?: string,
  ): Promise<string[]> {
    if (prefixes.length === 0) return [];
    const keys = await this.#store.keys(prefixes.map(containerKey), containerKey(after), count, holder);
    return keys.map((key) => key.slice(CONTAINER_PREFIX.length));
  }

  /** Returns what is left of a token. `limits` are the limits in its claim. */
  token(jti: string, limits: Limits | undefined): Promise<KeyReading> {
    return this.#read(tokenCharge(jti, limits, this.#defaults));
  }

  /** Clears the use of a container. The caller writes the audit record. */
  resetContainer(container: string): Promise<void> {
    return this.#store.reset(containerKey(container));
  }

  /** Clears the use of a token. The caller writes the audit record. */
  resetToken(jti: string): Promise<void> {
    return this.#store.reset(tokenKey(jti));
  }

  async #read(charge: Charge): Promise<KeyReading> {
    const [reading] = await this.#store.read([charge]);
    return reading!;
  }

  #charges(container: string, subject: LimitSubject): Charge[] {
    const tokens = subject.tokenCharges(this.#defaults);
    const own = this.#containerCharge(container, subject);
    return tokens.length === 1 ? [own, tokens[0]!] : [own, ...tokens];
  }

  #containerCharge(container: string, subject: LimitSubject): Charge {
    const limits = subject.containerLimits(this.#defaults, this.#policyOf(container));
    return { key: containerKey(container), class: "container", limits };
  }
}

/** The keys that one read has. They take a Redis a quarter of a millisecond. */
const USES_PER_READ = 25;
/** Limits that track no window. */
const NONE: LimitVector = limitVector();

function useOf(container: string): Charge {
  return { key: containerKey(container), class: "container", limits: NONE };
}

/** The prefix that separates a container's key from the key of a token with the same name. */
const CONTAINER_PREFIX = "c:";

function containerKey(container: string): string {
  return `${CONTAINER_PREFIX}${container}`;
}
