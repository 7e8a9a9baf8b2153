import { clientSite } from "../client-site.ts";
import { Problem } from "../errors.ts";
import { FamilyRuns } from "./family-runs.ts";
import type { Guest } from "./guest/guest.ts";
import { PublicUse, publicShare } from "./public-use.ts";

/** The limits of one token, together with all tokens that descend from it. */
export interface TokenCaps {
  /** Live containers that it started. Each isolation group in a container is one, and each fresh guest. */
  readonly containers: number;
  /** Runs in flight. */
  readonly concurrency: number;
  /** Containers that it starts in any minute. */
  readonly newContainers: number;
}

/** A token, and its ancestors, nearest first. Every run of the token has the same object. */
export interface TokenChain {
  readonly jti: string;
  readonly ancestors: readonly { readonly jti: string }[];
  /** How many tokens, from the first on, are of the owner of a task and not of the caller's family. */
  readonly foreign?: number;
  /** The lineage of the chain, which `TokenQuotas` caches here. */
  lineage?: unknown;
}

/** The draining guests that a token family may have for each of its containers. */
const DRAINING_PART = 1 / 2;

/** What one token uses now. */
export class TokenLoad {
  inFlight = 0;
  /** What the runs in flight of clients without a token use. */
  readonly publicUse: PublicUse = new PublicUse();
  /** The runs in flight of its family's tasks that callers of other families requested. */
  readonly foreignRuns: FamilyRuns = new FamilyRuns();
  live = 0;
  /** The guests of its family that take no new run and only finish theirs, oldest first. Only the root token has some. */
  readonly draining: Set<Guest> = new Set();
  /** The most of these guests. No cap on containers counts them. */
  readonly mostDraining: number;
  /** The live slots that runs without a token opened. */
  publicLive = 0;
  /** When it started containers within the last minute, oldest first. */
  readonly starts: number[] = [];
  /** The containers in which it had fresh guests, by name, and when each was counted as started. */
  readonly freshIn: Map<string, number> = new Map();

  /** @param containers the most live containers of the token */
  constructor(containers: number = 16) {
    this.mostDraining = Math.ceil(containers * DRAINING_PART);
  }
}

/** A token with its ancestors. What the token uses counts for each member, so that issuing tokens never multiplies a limit. */
export class TokenLineage {
  readonly members: readonly TokenLoad[];
  /** The root token. It counts what all its descendants use. */
  readonly head: TokenLoad;
  /** The `jti` of the root token of the caller. */
  readonly family: string;
  /** The members of the owner of a task, if the caller is of another family. */
  readonly foreign: readonly TokenLoad[];
  /** The epoch of the quotas when this lineage was created. */
  readonly epoch: object;

  constructor(members: readonly TokenLoad[], { jti, ancestors, foreign = 0 }: TokenChain, epoch: object) {
    this.members = members;
    this.head = members.at(-1)!;
    this.family = ancestors.at(-1)?.jti ?? jti;
    this.foreign = members.slice(0, foreign);
    this.epoch = epoch;
  }

  /** Returns the token family of a client, or the site of a client without a token. @param network null if it has a token */
  callerOf(network: string | null): string {
    return network === null ? this.family : clientSite(network);
  }
}

/** What all callers that are not of the owner's family share, for messages. */
const TASKS = "the tasks of this owner";
/** The part of a token's places that they may take together. */
const OTHERS_PART = 3 / 4;
const MINUTE_MS = 60_000;
/** Most runs end within milliseconds, but the service cannot predict when the next run ends. */
const RETRY_MS = 1_000;

/** Counts containers and runs by token, and enforces the limits of tokens. */
export class TokenQuotas {
  readonly #caps: TokenCaps;
  readonly #byJti: Map<string, TokenLoad> = new Map();
  /** Replaced when tokens are forgotten: lineages of an earlier epoch are created again. */
  #epoch: object = {};

  constructor(caps: TokenCaps) {
    this.#caps = caps;
  }

  lineageOf(chain: TokenChain): TokenLineage {
    const { lineage: cached } = chain;
    if (cached instanceof TokenLineage && cached.epoch === this.#epoch) return cached;
    const members = [this.#loadOf(chain.jti), ...chain.ancestors.map(({ jti }) => this.#loadOf(jti))];
    const lineage = new TokenLineage(members, chain, this.#epoch);
    chain.lineage = lineage;
    return lineage;
  }

  /**
   * @param network the network of a client without a token; null if the client has a token
   * @param guest the guest that would get the run; null for a new guest
   * @throws {Problem} `container_busy` if the token has its maximum of runs in flight, or its maximum for these clients.
   */
  admitRun(lineage: TokenLineage, network: string | null = null, guest: object | null = null): void {
    for (const load of lineage.members) {
      const { inFlight, publicUse } = load;
      if (network !== null) {
        publicUse.admitRun("the token", this.#caps.concurrency, network);
        publicUse.admitGuest("the token", this.#caps.containers, network, guest);
        this.#mustLeaveForOwner(load);
      }
      if (inFlight < this.#caps.concurrency) continue;
      throw new Problem("container_busy", `the token has ${inFlight} runs in flight, which is its limit`, {
        retryAfterMs: RETRY_MS,
      });
    }
    if (network === null && lineage.foreign.length > 0) this.#admitForeign(lineage, guest);
  }

  /** Divides what all others may take of a token with tasks between the families of their callers. */
  #admitForeign({ foreign, family }: TokenLineage, guest: object | null): void {
    for (const load of foreign) {
      this.#mustLeaveForOwner(load);
      const { publicUse, foreignRuns } = load;
      const runs = partForOthers(this.#caps.concurrency) - publicUse.runs - foreignRuns.runs;
      foreignRuns.admitRun(TASKS, runs, family);
      const guests = partForOthers(this.#caps.containers) - publicUse.guests - foreignRuns.guests;
      foreignRuns.admitGuest(TASKS, guests, family, guest);
    }
  }

  /** Keeps a quarter of a token's places for its own family. */
  #mustLeaveForOwner({ publicUse, foreignRuns }: TokenLoad): void {
    const others = publicUse.runs + foreignRuns.runs;
    if (others < partForOthers(this.#caps.concurrency)) return;
    const message = `other callers have ${others} runs of ${TASKS} in flight, which is their limit`;
    throw new Problem("container_busy", message, { retryAfterMs: RETRY_MS });
  }

  /** @throws {Problem} `container_busy` with the exact wait if the token may start no more containers in this minute. */
  admitStart(lineage: TokenLineage, nowMs: number): void {
    for (const { starts } of lineage.members) {
      // Half-open, like the windows of the limits: a start counts for less than a minute.
      while (starts.length > 0 && starts[0]! + MINUTE_MS <= nowMs) starts.shift();
      const most = this.#caps.newContainers;
      if (starts.length < most) continue;
      const retryAfterMs = Math.ceil(starts[starts.length - most]! + MINUTE_MS - nowMs);
      const wait = Math.ceil(retryAfterMs / 1_000);
      throw new Problem(
        "container_busy",
        `the token may start ${most} containers a minute; the next fits in ${wait} s`,
        { retryAfterMs },
      );
    }
  }

  /**
   * Whether a fresh guest counts as a started container: once a minute for each name. The guest ends with its run, which
   * other limits count. But the limits store each name for a month, and a token could otherwise use any number of names.
   */
  isNewFor({ head: { freshIn } }: TokenLineage, container: string, nowMs: number): boolean {
    for (const [name, sinceMs] of freshIn) {
      if (sinceMs + MINUTE_MS > nowMs) break;
      freshIn.delete(name);
    }
    return !freshIn.has(container);
  }

  /** Returns the member of the lineage that has its maximum of live containers, and must close one to start another; or null. */
  full(lineage: TokenLineage): TokenLoad | null {
    return lineage.members.find(({ live }) => live >= this.#caps.containers) ?? null;
  }

  /** Returns the member of the lineage whose live slots for clients without a token have reached their limit, or null. */
  fullOfPublic(lineage: TokenLineage): TokenLoad | null {
    return lineage.members.find(({ publicLive }) => publicLive >= publicShare(this.#caps.containers)) ?? null;
  }

  /** Returns the refusal for a member of which all containers are at work. */
  fullProblem({ live }: TokenLoad): Problem {
    return new Problem("container_busy", `the token has ${live} containers alive, all at work, which is its limit`, {
      retryAfterMs: RETRY_MS,
    });
  }

  /** Forgets tokens that use nothing and started nothing in the last minute, so that memory does not grow. */
  sweep(nowMs: number): void {
    let forgotten = false;
    for (const [jti, { inFlight, live, starts }] of this.#byJti) {
      if (inFlight > 0 || live > 0 || (starts.length > 0 && starts.at(-1)! + MINUTE_MS > nowMs)) continue;
      this.#byJti.delete(jti);
      forgotten = true;
    }
    // An old lineage would count in a `TokenLoad` that no other lineage reads.
    if (forgotten) this.#epoch = {};
  }

  #loadOf(jti: string): TokenLoad {
    let load = this.#byJti.get(jti);
    if (!load) this.#byJti.set(jti, (load = new TokenLoad(this.#caps.containers)));
    return load;
  }
}

function partForOthers(places: number): number {
  return Math.max(1, Math.floor(places * OTHERS_PART));
}
