import { freemem } from "node:os";

import { Problem } from "../errors.ts";
import { formatDuration } from "../units.ts";
import { leastRecent, ownRoom, roomFor } from "./eviction.ts";
import { GuestSlot } from "./guest-slot.ts";
import { Container } from "./guest-slot.ts";
import type { IsolationGroup } from "./isolation-group.ts";
import type { Pool } from "./pool.ts";
import {
  publicProblem,
  publicShare,
  type TokenCaps,
  type TokenChain,
  type TokenLineage,
  TokenQuotas,
} from "./token-quotas.ts";

export interface ContainerManagerOptions {
  /** Runs in flight, a container. */
  readonly concurrency: number;
  /** Alive at once. Each isolation group in a container, and each fresh guest, is one. */
  readonly maxContainers: number;
  /** Isolation groups that have a guest in one container. */
  readonly containerParties: number;
  /** A container that has not been used for so long is closed. */
  readonly idleMs: number;
  /** When the machine has less than this left, idle guests go and no new ones come. */
  readonly memoryReserveBytes: number;
  /** Of one token. */
  readonly caps: TokenCaps;
  /** What the machine has left, in bytes. */
  readonly availableMemory?: () => number;
}

/** What one run has reserved before it is charged: a place in a container, and the right to a guest. */
export interface Reservation {
  readonly slot: GuestSlot;
  readonly lineage: TokenLineage;
  readonly isPublic: boolean;
}

const SWEEP_MS = 1_000;
/** Runs are short: a place is free again after some milliseconds, but nobody can say which. */
const BUSY_RETRY_MS = 1_000;
const BUSY = { retryAfterMs: BUSY_RETRY_MS };

/** The containers that are alive, and who holds them. */
export class ContainerManager {
  readonly #containers: Map<string, Container> = new Map();
  readonly #pool: Pool;
  readonly #options: ContainerManagerOptions;
  readonly #quotas: TokenQuotas;
  readonly #availableMemory: () => number;
  readonly #sweeper: NodeJS.Timeout;
  #taken = 0;
  #alive = 0;
  #memoryShort = false;
  #draining = false;

  constructor(pool: Pool, options: ContainerManagerOptions) {
    this.#pool = pool;
    this.#options = options;
    this.#quotas = new TokenQuotas(options.caps);
    this.#availableMemory = options.availableMemory ?? freemem;
    this.#sweeper = setInterval(() => this.#sweep(performance.now()), Math.min(SWEEP_MS, options.idleMs)).unref();
  }

  /** Runs that hold a place. */
  get taken(): number {
    return this.#taken;
  }

  /** Of the containers that are alive. */
  names(): Iterable<string> {
    return this.#containers.keys();
  }

  /** How many isolation groups have a guest in a container, and how many of its runs are in flight. */
  activity(name: string): { parties: number; running: number } {
    const container = this.#containers.get(name);
    return { parties: container?.slots.size ?? 0, running: container?.taken ?? 0 };
  }

  /** Takes no new run. */
  drain(): void {
    this.#draining = true;
  }

  /**
   * Takes a place in a container, and the right to a guest, before anything is charged for it. A refusal changes nothing:
   * room is made only when nothing else is in the way.
   *
   * @param isPublic whether the client sent no token: all such clients together get half of the places of the container,
   *   and half of the caps of the token
   * @throws {Problem} `container_busy`, `overloaded`, `draining`.
   */
  reserve(
    name: string,
    group: IsolationGroup,
    token: TokenChain,
    nowMs: number,
    isPublic: boolean = false,
  ): Reservation {
    if (this.#draining) throw new Problem("draining", "the service is stopping", BUSY);
    const lineage = this.#quotas.lineageOf(token);
    const container = this.#containers.get(name);
    const known = group.fresh ? undefined : container?.slots.get(group.isolationKey);
    const cold = known?.isCold ?? true;
    if (cold && this.#pool.full) throw new Problem("overloaded", "too many containers wait to be started", BUSY);
    if (container) this.#admitTo(container, isPublic);
    this.#quotas.admitRun(lineage, isPublic);
    if (known && cold) refuseCrashLoop(known, nowMs);
    const slot = known ?? this.#open(name, group, lineage, nowMs, isPublic);
    this.#taken++;
    slot.container.taken++;
    if (isPublic) slot.container.publicTaken++;
    slot.taken++;
    slot.usedMs = nowMs;
    this.#hold(slot, lineage, nowMs);
    for (const load of lineage.members) {
      load.inFlight++;
      if (isPublic) load.publicInFlight++;
    }
    return { slot, lineage, isPublic };
  }

  release({ slot, lineage, isPublic }: Reservation): void {
    this.#taken--;
    slot.container.taken--;
    if (isPublic) slot.container.publicTaken--;
    slot.taken--;
    for (const load of lineage.members) {
      load.inFlight--;
      if (isPublic) load.publicInFlight--;
    }
    if (slot.group.fresh) this.#remove(slot);
  }

  close(): void {
    clearInterval(this.#sweeper);
    for (const slot of this.#all()) slot.close();
    this.#containers.clear();
  }

  #admitTo(container: Container, isPublic: boolean): void {
    const { name, taken, publicTaken } = container;
    const { concurrency } = this.#options;
    if (taken >= concurrency) throw placesProblem(container);
    if (!isPublic || publicTaken < publicShare(concurrency)) return;
    throw publicProblem(`container "${name}"`, publicTaken, "runs");
  }

  /**
   * Who made a container come alive holds it, and whoever uses it later does not take it over: else a neighbour could be
   * made to hold what it only looked into. A holder that has not come back for the idle time has left it to whoever did,
   * if that one may have another: else nobody could get rid of what others keep alive.
   */
  #hold(slot: GuestSlot, lineage: TokenLineage, nowMs: number): void {
    if (slot.holder.members[0] !== lineage.members[0]) {
      if (nowMs - slot.holderUsedMs <= this.#options.idleMs || this.#quotas.full(lineage)) return;
      countLive(slot, -1);
      slot.holder = lineage;
      countLive(slot, 1);
    }
    slot.holderUsedMs = nowMs;
  }

  #open(name: string, group: IsolationGroup, lineage: TokenLineage, nowMs: number, isPublic: boolean): GuestSlot {
    const isStart = !group.fresh || this.#quotas.isNewFor(lineage, name, nowMs);
    if (isStart) this.#quotas.admitStart(lineage, nowMs);
    for (const each of this.#makeRoom(name, group, lineage, nowMs, isPublic)) this.#remove(each);
    // Only now: it may have gone with its last slot.
    let container = this.#containers.get(name);
    if (!container) this.#containers.set(name, (container = new Container(name)));
    const slot = new GuestSlot(container, group, lineage, this.#pool, isPublic);
    slot.holderUsedMs = nowMs;
    this.#alive++;
    countLive(slot, 1);
    if (isStart) for (const load of lineage.members) load.starts.push(nowMs);
    if (group.fresh && isStart) lineage.head.freshIn.set(name, nowMs);
    if (!group.fresh) container.slots.set(group.isolationKey, slot);
    return slot;
  }

  /** @returns what is to go for one more; nothing when there is room. */
  #makeRoom(
    name: string,
    group: IsolationGroup,
    lineage: TokenLineage,
    nowMs: number,
    isPublic: boolean,
  ): readonly GuestSlot[] {
    const { maxContainers, containerParties } = this.#options;
    const container = this.#containers.get(name);
    const going: GuestSlot[] = [];
    const fullOfPublic = isPublic ? this.#quotas.fullOfPublic(lineage) : null;
    const full = fullOfPublic ?? this.#quotas.full(lineage);
    if (full) {
      const own = ownRoom(full, this.#all(), fullOfPublic !== null);
      if (!own && fullOfPublic) throw publicProblem("the token", fullOfPublic.publicLive, "guests");
      if (!own) throw this.#quotas.fullProblem(full);
      going.push(own);
    }
    const crowded = !group.fresh && container !== undefined && container.slots.size >= containerParties;
    if (crowded && going[0]?.container !== container) {
      const room = leastRecent(container.slots.values());
      if (!room) {
        const detail = `container "${name}" serves ${containerParties} parties, all at work, and may serve no more`;
        throw new Problem("container_busy", detail, BUSY);
      }
      going.push(room);
    }
    if (going.length > 0 || (this.#alive < maxContainers && !this.#memoryShort)) return going;
    const room = roomFor(lineage, this.#all(), nowMs);
    if (room) return [room];
    const what = this.#memoryShort ? "the machine is short of memory" : `${this.#alive} containers are at work`;
    throw new Problem("overloaded", `${what}, and there is room for no more`, BUSY);
  }

  *#all(): Generator<GuestSlot> {
    for (const { slots } of this.#containers.values()) yield* slots.values();
  }

  #sweep(nowMs: number): void {
    for (const slot of this.#all()) {
      if (slot.taken === 0 && slot.usedMs < nowMs - this.#options.idleMs) this.#remove(slot);
    }
    this.#memoryShort = this.#availableMemory() < this.#options.memoryReserveBytes;
    const largest = this.#memoryShort ? roomFor(null, this.#all(), nowMs) : null;
    if (largest) this.#remove(largest);
    this.#quotas.sweep(nowMs);
  }

  #remove(slot: GuestSlot): void {
    const { container, group } = slot;
    if (container.slots.get(group.isolationKey) === slot) container.slots.delete(group.isolationKey);
    if (container.slots.size === 0 && container.taken === 0) this.#containers.delete(container.name);
    this.#alive--;
    countLive(slot, -1);
    slot.close();
  }
}

/** Counts a slot, or removes it from the counts, for its holder. */
function countLive({ holder, isPublic }: GuestSlot, change: 1 | -1): void {
  for (const load of holder.members) {
    load.live += change;
    if (isPublic) load.publicLive += change;
  }
}

function placesProblem({ name, taken }: Container): Problem {
  return new Problem("container_busy", `container "${name}" has ${taken} runs in flight, and may have no more`, BUSY);
}

function refuseCrashLoop(slot: GuestSlot, nowMs: number): void {
  const retryAfterMs = Math.ceil(slot.backOffMs(nowMs));
  if (retryAfterMs <= 0) return;
  const { name } = slot.container;
  const wait = formatDuration(retryAfterMs);
  throw new Problem("container_busy", `container "${name}" ended again and again; it may try anew in ${wait}`, {
    retryAfterMs,
    hint: "Its tasks end their process, block it or exhaust its memory. The answers to those runs say which.",
  });
}
