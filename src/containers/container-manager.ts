import { freemem } from "node:os";

import { Problem } from "../errors.ts";
import { BUSY, concurrencyProblem, noRoom, refuseCrashLoop, refuseLeaver } from "./container-problems.ts";
import { chooseEviction, leastRecent, leastRecentOf } from "./eviction.ts";
import { Container, countLive, GuestSlot } from "./guest-slot.ts";
import type { IsolationGroup } from "./isolation-group.ts";
import { chooseRelief, reliefProblem } from "./memory-relief.ts";
import type { Pool } from "./pool.ts";
import { publicProblem } from "./public-use.ts";
import { type TokenCaps, type TokenChain, type TokenLineage, TokenQuotas } from "./token-quotas.ts";

export interface ContainerManagerOptions {
  /** The maximum number of runs in flight in each container. */
  readonly concurrency: number;
  /** The maximum number of live slots. Each isolation group in a container is one, and each fresh guest. */
  readonly maxContainers: number;
  /** The maximum number of isolation groups that have a guest in one container. */
  readonly containerParties: number;
  /** A slot that was not used for this time is closed. */
  readonly idleMs: number;
  /** If the machine has less free memory than this, a new guest starts only after another has ended (see `chooseRelief`). */
  readonly memoryReserveBytes: number;
  /** The limits of each token. */
  readonly caps: TokenCaps;
  /** Returns the free memory of the machine in bytes. */
  readonly availableMemory?: () => number;
}

/** What a run reserves before it is charged: a share of a container's concurrency, and the right to a guest. */
export interface Reservation {
  readonly slot: GuestSlot;
  readonly lineage: TokenLineage;
  /** The network of a client without a token; null if the client has a token. */
  readonly network: string | null;
}

const SWEEP_MS = 1_000;

/** The live containers, and the tokens that they count for. */
export class ContainerManager {
  readonly #containers: Map<string, Container> = new Map();
  /** All live slots, also those of fresh guests. */
  readonly #slots: Set<GuestSlot> = new Set();
  readonly #pool: Pool;
  readonly #options: ContainerManagerOptions;
  readonly #quotas: TokenQuotas;
  readonly #availableMemory: () => number;
  readonly #sweeper: NodeJS.Timeout;
  #taken = 0;
  #memoryShort = false;
  #isMeasuring = false;
  #draining = false;

  constructor(pool: Pool, options: ContainerManagerOptions) {
    this.#pool = pool;
    this.#options = options;
    this.#quotas = new TokenQuotas(options.caps);
    this.#availableMemory = options.availableMemory ?? freemem;
    this.#sweeper = setInterval(() => this.#sweep(performance.now()), Math.min(SWEEP_MS, options.idleMs)).unref();
  }

  /** The number of runs that hold a reservation. */
  get taken(): number {
    return this.#taken;
  }

  /** The number of live slots. */
  get slots(): number {
    return this.#slots.size;
  }

  /** The number of live containers. */
  get activeContainers(): number {
    return this.#containers.size;
  }

  /** The names of the live containers. */
  names(): Iterable<string> {
    return this.#containers.keys();
  }

  /** The number of isolation groups that have a guest in a container, and the number of its runs in flight. */
  activity(name: string): { parties: number; running: number } {
    const container = this.#containers.get(name);
    return { parties: container?.slots.size ?? 0, running: container?.taken ?? 0 };
  }

  /** As `Container.replaceGuests`. */
  replaceGuests(name: string, nowMs: number, problem: Problem | null): void {
    this.#containers.get(name)?.replaceGuests(nowMs, problem);
  }

  /** Refuses new runs from now on. */
  drain(): void {
    this.#draining = true;
  }

  /**
   * Reserves a slot for a run before the run is charged. A refusal changes nothing: other guests are ended to make room
   * only after all other checks have passed.
   *
   * @param network the network of a client without a token; null if the client has a token. All these clients together get
   *   half of the slots of the container and half of the caps of the token; see `PublicUse` for the share of one network
   * @throws {Problem} `container_busy`, `overloaded`, `draining`.
   */
  reserve(
    name: string,
    group: IsolationGroup,
    token: TokenChain,
    nowMs: number,
    network: string | null = null,
  ): Reservation {
    if (this.#draining) throw new Problem("draining", "the service is stopping", BUSY);
    const lineage = this.#quotas.lineageOf(token);
    const container = this.#containers.get(name);
    const existing = group.fresh ? undefined : container?.slots.get(group.isolationKey);
    const cold = existing?.isCold ?? true;
    if (cold && this.#pool.isFull((existing?.owner ?? lineage).head))
      throw new Problem("overloaded", "too many containers wait to be started", BUSY);
    if (container) this.#admitTo(container, existing, lineage, network, nowMs);
    this.#quotas.admitRun(lineage, network, existing ?? null);
    if (existing && cold) {
      refuseCrashLoop(existing, nowMs);
      if (this.#memoryShort) this.#freeMemory(lineage);
    }
    const slot = existing ?? this.#open(name, group, lineage, nowMs, network !== null);
    if (!container) slot.container.recentCallers.asked(lineage.callerOf(network), nowMs);
    this.#taken++;
    slot.container.taken++;
    if (network === null) slot.container.families.add(lineage.family, slot);
    else slot.container.publicUse.add(network, slot);
    slot.taken++;
    slot.usedMs = nowMs;
    this.#updateOwner(slot, lineage, nowMs);
    for (const load of lineage.members) {
      load.inFlight++;
      if (network !== null) load.publicUse.add(network, slot);
    }
    if (network === null) for (const load of lineage.foreign) load.foreignRuns.add(lineage.family, slot);
    return { slot, lineage, network };
  }

  release({ slot, lineage, network }: Reservation): void {
    this.#taken--;
    slot.container.taken--;
    if (network === null) slot.container.families.remove(lineage.family, slot);
    else slot.container.publicUse.remove(network, slot);
    slot.taken--;
    for (const load of lineage.members) {
      load.inFlight--;
      if (network !== null) load.publicUse.remove(network, slot);
    }
    if (network === null) for (const load of lineage.foreign) load.foreignRuns.remove(lineage.family, slot);
    if (slot.group.fresh) this.#remove(slot);
  }

  close(): void {
    clearInterval(this.#sweeper);
    for (const slot of this.#slots) slot.close();
    this.#containers.clear();
  }

  #admitTo(
    container: Container,
    slot: GuestSlot | undefined,
    lineage: TokenLineage,
    network: string | null,
    nowMs: number,
  ): void {
    const { name, taken, publicUse, families, recentCallers } = container;
    const { concurrency } = this.#options;
    // A refused request counts, too: its family gets places when runs of the others end.
    const caller = lineage.callerOf(network);
    const isShared = recentCallers.asked(caller, nowMs);
    if (taken >= concurrency) throw concurrencyProblem(container);
    if (network !== null) publicUse.admitRun(`container "${name}"`, concurrency, network);
    else if (isShared) families.admitRun(`container "${name}"`, concurrency - taken, lineage.family);
    if (isShared && slot) refuseLeaver(slot, caller, nowMs);
  }

  /**
   * Keeps or changes the token that a slot counts for. A slot counts for the token that opened it. A later user does not
   * become its owner, because otherwise a token could be charged for a container that it only looked into. If the owner
   * has not used the slot for the idle time, the slot counts for the next user that may have another container. Otherwise
   * an owner could not get rid of a slot that other tokens keep alive.
   */
  #updateOwner(slot: GuestSlot, lineage: TokenLineage, nowMs: number): void {
    if (slot.owner.members[0] !== lineage.members[0]) {
      if (nowMs - slot.ownerUsedMs <= this.#options.idleMs || this.#quotas.full(lineage)) return;
      countLive(slot, -1);
      slot.owner = lineage;
      countLive(slot, 1);
    }
    slot.ownerUsedMs = nowMs;
  }

  #open(name: string, group: IsolationGroup, lineage: TokenLineage, nowMs: number, isPublic: boolean): GuestSlot {
    const isStart = !group.fresh || this.#quotas.isNewFor(lineage, name, nowMs);
    if (isStart) this.#quotas.admitStart(lineage, nowMs);
    for (const each of this.#makeRoom(name, group, lineage, nowMs, isPublic)) this.#remove(each);
    // Looked up after room was made: the container is deleted with its last slot.
    let container = this.#containers.get(name);
    if (!container) this.#containers.set(name, (container = new Container(name)));
    const slot = new GuestSlot(container, group, lineage, this.#pool, isPublic);
    slot.ownerUsedMs = nowMs;
    this.#slots.add(slot);
    countLive(slot, 1);
    if (isStart) for (const load of lineage.members) load.starts.push(nowMs);
    if (group.fresh && isStart) lineage.head.freshIn.set(name, nowMs);
    if (!group.fresh) container.slots.set(group.isolationKey, slot);
    return slot;
  }

  /** Returns the slots that must be closed to make room for a new slot; empty if there is room. */
  #makeRoom(
    name: string,
    group: IsolationGroup,
    lineage: TokenLineage,
    nowMs: number,
    isPublic: boolean,
  ): readonly GuestSlot[] {
    const { maxContainers, containerParties } = this.#options;
    const container = this.#containers.get(name);
    const evicted: GuestSlot[] = [];
    const fullOfPublic = isPublic ? this.#quotas.fullOfPublic(lineage) : null;
    const full = fullOfPublic ?? this.#quotas.full(lineage);
    if (full) {
      const own = leastRecentOf(full, this.#slots, fullOfPublic !== null);
      if (!own && fullOfPublic) throw publicProblem("the token", fullOfPublic.publicLive, "guests");
      if (!own) throw this.#quotas.fullProblem(full);
      evicted.push(own);
    }
    const crowded = !group.fresh && container !== undefined && container.slots.size >= containerParties;
    if (crowded && evicted[0]?.container !== container) {
      const idle = leastRecent(container.slots.values());
      if (!idle) {
        const detail = `container "${name}" serves ${containerParties} isolation groups, all at work, which is its limit`;
        throw new Problem("container_busy", detail, BUSY);
      }
      evicted.push(idle);
    }
    if (evicted.length > 0) return evicted;
    if (this.#slots.size >= maxContainers) {
      const idle = chooseEviction(lineage, this.#slots, nowMs);
      if (idle) return [idle];
      throw noRoom(`${this.#slots.size} containers are in use`);
    }
    if (this.#memoryShort) this.#freeMemory(lineage);
    return [];
  }

  /** @throws {Problem} `overloaded` if no guest may be ended for the lineage. */
  #freeMemory(lineage: TokenLineage): void {
    const slot = chooseRelief(lineage, this.#slots);
    if (!slot) throw noRoom("the machine is short of memory");
    this.#relieve(slot);
  }

  #relieve(slot: GuestSlot): void {
    if (slot.taken === 0) this.#remove(slot);
    else slot.endGuests(reliefProblem(slot, this.#slots));
  }

  #sweep(nowMs: number): void {
    for (const slot of this.#slots) {
      if (slot.taken === 0 && slot.usedMs < nowMs - this.#options.idleMs) this.#remove(slot);
    }
    this.#memoryShort = this.#availableMemory() < this.#options.memoryReserveBytes;
    if (this.#memoryShort && !this.#isMeasuring) void this.#measureAndRelieve();
    this.#quotas.sweep(nowMs);
  }

  async #measureAndRelieve(): Promise<void> {
    this.#isMeasuring = true;
    try {
      for (const slot of [...this.#slots]) await slot.measure();
    } finally {
      this.#isMeasuring = false;
    }
    const slot = this.#memoryShort ? chooseRelief(null, this.#slots) : null;
    if (slot) this.#relieve(slot);
  }

  #remove(slot: GuestSlot): void {
    const { container, group } = slot;
    if (container.slots.get(group.isolationKey) === slot) container.slots.delete(group.isolationKey);
    if (container.slots.size === 0 && container.taken === 0) this.#containers.delete(container.name);
    this.#slots.delete(slot);
    countLive(slot, -1);
    slot.close();
  }
}
