import { Problem } from "../errors.ts";

/** What one token may have of the machine at a time, together with all tokens that descend from it. */
export interface TokenCaps {
  /** Containers alive that it made come alive; each isolation group in a container, and each fresh guest, is one. */
  readonly containers: number;
  /** Runs in flight. */
  readonly concurrency: number;
  /** Containers that it makes come alive, in any minute. */
  readonly newContainers: number;
}

/** A token, and the tokens above it, nearest first. It is the same object in every run of the token. */
export interface TokenChain {
  readonly jti: string;
  readonly ancestors: readonly { readonly jti: string }[];
  /** Where the quotas keep the lineage of the chain. */
  lineage?: unknown;
}

/** What one token has of the machine. */
export class TokenLoad {
  inFlight = 0;
  /** The runs in flight that clients without a token requested. */
  publicInFlight = 0;
  live = 0;
  /** The containers alive that runs without a token opened. */
  publicLive = 0;
  /** When containers came alive for it within the last minute, oldest first. */
  readonly starts: number[] = [];
  /** Containers in which it had fresh guests, by name, and when that was first counted as one that came alive. */
  readonly freshIn: Map<string, number> = new Map();
}

/** A token with all above it: what it does is counted for each, so that issuing tokens never multiplies a cap. */
export class TokenLineage {
  readonly members: readonly TokenLoad[];
  /** The topmost: it stands for the size of them all. */
  readonly head: TokenLoad;
  /** The epoch of the quotas when this was made. */
  readonly epoch: object;

  constructor(members: readonly TokenLoad[], epoch: object) {
    this.members = members;
    this.head = members.at(-1)!;
    this.epoch = epoch;
  }
}

/**
 * Returns the number of places that clients without a token may take together. Otherwise strangers could take all places
 * of a public task's owner, in its container and in its caps.
 */
export function publicShare(places: number): number {
  return Math.max(1, Math.floor(places / 2));
}

/** Returns the error for a run without a token that is one too many. @param what the places that it needs, such as "runs" */
export function publicProblem(subject: string, count: number, what: string): Problem {
  const message = `${subject} has ${count} ${what} of clients without a token, and may have no more`;
  return new Problem("container_busy", message, { retryAfterMs: RETRY_MS });
}

const MINUTE_MS = 60_000;
/** Runs are short: one ends within some milliseconds, but nobody can say which. */
const RETRY_MS = 1_000;

/** Whose containers and runs there are, by token. */
export class TokenQuotas {
  readonly #caps: TokenCaps;
  readonly #byJti: Map<string, TokenLoad> = new Map();
  /** Another object after tokens were forgotten: lineages of an earlier epoch are made again. */
  #epoch: object = {};

  constructor(caps: TokenCaps) {
    this.#caps = caps;
  }

  lineageOf(chain: TokenChain): TokenLineage {
    const { lineage: known } = chain;
    if (known instanceof TokenLineage && known.epoch === this.#epoch) return known;
    const members = [this.#loadOf(chain.jti), ...chain.ancestors.map(({ jti }) => this.#loadOf(jti))];
    const lineage = new TokenLineage(members, this.#epoch);
    chain.lineage = lineage;
    return lineage;
  }

  /** @throws {Problem} `container_busy` when one more run is too many. */
  admitRun(lineage: TokenLineage, isPublic: boolean = false): void {
    for (const { inFlight, publicInFlight } of lineage.members) {
      if (isPublic && publicInFlight >= publicShare(this.#caps.concurrency)) {
        throw publicProblem("the token", publicInFlight, "runs");
      }
      if (inFlight < this.#caps.concurrency) continue;
      throw new Problem("container_busy", `the token has ${inFlight} runs in flight, and may have no more`, {
        retryAfterMs: RETRY_MS,
      });
    }
  }

  /** @throws {Problem} `container_busy` with the exact wait when one more container this minute is too many. */
  admitStart(lineage: TokenLineage, nowMs: number): void {
    for (const { starts } of lineage.members) {
      // Half-open, as the windows of the limits are: after exactly a minute it is over.
      while (starts.length > 0 && starts[0]! + MINUTE_MS <= nowMs) starts.shift();
      const most = this.#caps.newContainers;
      if (starts.length < most) continue;
      const retryAfterMs = Math.ceil(starts[starts.length - most]! + MINUTE_MS - nowMs);
      const wait = Math.ceil(retryAfterMs / 1_000);
      throw new Problem(
        "container_busy",
        `the token makes at most ${most} containers come alive a minute; the next fits in ${wait} s`,
        { retryAfterMs },
      );
    }
  }

  /**
   * Whether a fresh guest counts as a container that comes alive: once a minute for each name. A fresh guest is gone with its
   * run, which other limits count; but each name is kept by the limits for a month, and a token could walk through any number.
   */
  isNewFor({ head: { freshIn } }: TokenLineage, container: string, nowMs: number): boolean {
    for (const [name, sinceMs] of freshIn) {
      if (sinceMs + MINUTE_MS > nowMs) break;
      freshIn.delete(name);
    }
    return !freshIn.has(container);
  }

  /** The member of the lineage that has as many containers alive as it may, and must give one up for another. */
  full(lineage: TokenLineage): TokenLoad | null {
    return lineage.members.find(({ live }) => live >= this.#caps.containers) ?? null;
  }

  /** The member of the lineage that has as many containers alive for clients without a token as it may. */
  fullOfPublic(lineage: TokenLineage): TokenLoad | null {
    return lineage.members.find(({ publicLive }) => publicLive >= publicShare(this.#caps.containers)) ?? null;
  }

  /** A member has all its containers at work. */
  fullProblem({ live }: TokenLoad): Problem {
    return new Problem("container_busy", `the token has ${live} containers alive, all at work, and may have no more`, {
      retryAfterMs: RETRY_MS,
    });
  }

  /** Forgets tokens that have nothing and had nothing lately, so that memory does not grow with those of the past. */
  sweep(nowMs: number): void {
    let forgotten = false;
    for (const [jti, { inFlight, live, starts }] of this.#byJti) {
      if (inFlight > 0 || live > 0 || (starts.length > 0 && starts.at(-1)! + MINUTE_MS > nowMs)) continue;
      this.#byJti.delete(jti);
      forgotten = true;
    }
    // A lineage with one of them would count where no other lineage looks.
    if (forgotten) this.#epoch = {};
  }

  #loadOf(jti: string): TokenLoad {
    let load = this.#byJti.get(jti);
    if (!load) this.#byJti.set(jti, (load = new TokenLoad()));
    return load;
  }
}
