import { Problem } from "../errors.ts";
import { CrashLoop } from "./crash-loop.ts";
import { FamilyRuns, RecentCallers } from "./family-runs.ts";
import type { Guest } from "./guest/guest.ts";
import type { IsolationGroup } from "./isolation-group.ts";
import type { Pool, Taken } from "./pool.ts";
import { PublicUse } from "./public-use.ts";
import type { TokenLineage } from "./token-quotas.ts";

/** A guest is replaced after this many runs or this time, because damage inside it is not visible from outside. */
const MAX_RUNS = 100_000;
const MAX_AGE_MS = 20 * 60_000;

/** The time that new runs wait for a silent guest. By then the watchdog has ended a blocked guest, or the machine is too busy. */
const SILENT_WAIT_MS = 10_000;
const MAX_DRAINING = 2;
/** The guests that a run waits for, one after the other. More than this many end only if no guest works. */
const MAX_GUESTS = 16;
const CLOSED = new Problem("container_restarted", "the container was closed");

/** A container: its runs in flight, and the slot of each isolation group. */
export class Container {
  readonly name: string;
  /** The number of reservations of all groups. A run holds its reservation from before its admission until its end. */
  taken = 0;
  /** What the runs of clients without a token use. */
  readonly publicUse: PublicUse = new PublicUse();
  /** What the runs of clients with a token use. */
  readonly families: FamilyRuns = new FamilyRuns();
  readonly recentCallers: RecentCallers = new RecentCallers();
  /** The slots by isolation key, without those of fresh guests, which are never looked up. */
  readonly slots: Map<string, GuestSlot> = new Map();
  #replacements = 0;
  /** The last replacement that ended runs, and its answer to them. */
  #ended: { readonly replacement: number; readonly problem: Problem } | null = null;

  constructor(name: string) {
    this.name = name;
  }

  /** How often the guests were replaced by a request. */
  get replacements(): number {
    return this.#replacements;
  }

  /**
   * Lets the guests finish their runs, and then ends them. The next run gets a new guest.
   *
   * @param problem the answer to the runs that wait for their code or their guest; null if they may begin
   */
  replaceGuests(nowMs: number, problem: Problem | null): void {
    this.#replacements++;
    if (problem) this.#ended = { replacement: this.#replacements, problem };
    for (const slot of this.slots.values()) slot.replaceGuest(nowMs);
  }

  /**
   * Call it before an admitted run begins.
   *
   * @param since `replacements` at its admission
   * @throws {Problem} if a replacement since then ends the run
   */
  mustNotBeEnded(since: number): void {
    if (this.#ended && this.#ended.replacement > since) throw this.#ended.problem;
  }
}

/** The part of a container that belongs to one isolation group: its guest, if there is one, and the token it counts for. */
export class GuestSlot {
  readonly container: Container;
  readonly group: IsolationGroup;
  /** The token that the slot counts for: first the token that opened it (see `ContainerManager`). */
  owner: TokenLineage;
  /** Whether a run without a token opened the slot. */
  readonly isPublic: boolean;
  /** When the owner last used the slot, on the clock of `performance.now()`. */
  ownerUsedMs = 0;
  /** When any token last used the slot, on the same clock. */
  usedMs = 0;
  /** The number of reservations of the slot. */
  taken = 0;
  /** The memory of all its guests, with their files in it, in bytes when it was last measured, also of draining guests; 0 before. */
  memoryBytes = 0;
  readonly #pool: Pool;
  readonly #crashes = new CrashLoop();
  #warm: Taken | null = null;
  /** When the slot received its latest guest; 0 before the first guest. */
  #warmSinceMs = 0;
  #arriving: Promise<Taken> | null = null;
  #draining: Guest[] = [];

  constructor(container: Container, group: IsolationGroup, owner: TokenLineage, pool: Pool, isPublic: boolean = false) {
    this.container = container;
    this.isPublic = isPublic;
    this.group = group;
    this.owner = owner;
    this.#pool = pool;
  }

  /**
   * Returns the guest that may take a run now, or null. A guest that is late with a ping takes none, because the watchdog
   * may end it together with its runs.
   */
  warm(nowMs: number): Taken | null {
    if (!this.#warm) return null;
    const { guest } = this.#warm;
    if (guest.isDue || guest.runs >= MAX_RUNS || nowMs - guest.startedMs > MAX_AGE_MS) guest.retireWhenPossible();
    if (!guest.draining) return guest.heartbeat.isOverdue(nowMs) ? null : this.#warm;
    this.#letGo(guest);
    return null;
  }

  /** Whether the slot has no guest and has not requested one from the pool. */
  get isCold(): boolean {
    return this.#arriving === null && (this.#warm?.guest.draining ?? true);
  }

  /** The time in milliseconds until the slot may have another guest after repeated deaths; 0 if it may have one now. */
  backOffMs(nowMs: number): number {
    if (!this.isCold) return 0;
    if (this.#warm) this.#letGo(this.#warm.guest);
    return this.#crashes.waitMs(nowMs);
  }

  /**
   * Returns the guest of the slot when it answers pings again, otherwise a guest from the pool. Runs that arrive meanwhile
   * wait for the same guest.
   *
   * @throws {Problem} if no guest could be started.
   */
  async arrive(): Promise<Taken> {
    const silent = this.#warm;
    if (silent && !silent.guest.draining) {
      await settledWithin(silent.guest, SILENT_WAIT_MS);
      if (!silent.guest.draining) return silent;
    }
    if (this.#warm?.guest.draining) this.#letGo(this.#warm.guest);
    // Another run that waited has already taken a new guest.
    if (this.#warm) return this.#warm;
    this.#arriving ??= this.#take();
    return this.#arriving;
  }

  /**
   * Calls `begin` when a guest has arrived. Runs that waited for the same guest begin one after the other. If they have ended
   * it, as many abandoned runs do, the next one gets another guest: it has only waited.
   *
   * @throws {Problem} as `arrive`, or the error of `begin`.
   */
  async whenArrived<T>(begin: (taken: Taken) => T): Promise<T> {
    let taken = await this.arrive();
    for (let guests = 1; taken.guest.ended && guests < MAX_GUESTS; guests++) taken = await this.arrive();
    // In the same turn as the check, so that no other run ends the guest in between.
    return begin(taken);
  }

  /** Lets the guest of the slot finish its runs, and then ends it. */
  replaceGuest(nowMs: number): void {
    const guest = this.#warm?.guest;
    if (!guest || guest.draining) return;
    // Replacing a guest costs a start. Callers that do it all the time wait as after crashes.
    guest.crashedMs ??= nowMs;
    guest.retire();
  }

  /** Returns the time in milliseconds until a caller that has left many runs in its guest may have another one there; 0 for now. */
  leaverWaitMs(caller: string, nowMs: number): number {
    const guest = this.#warm?.guest;
    return guest && !guest.draining ? guest.inFlight.left.waitMs(caller, nowMs) : 0;
  }

  /** Measures `memoryBytes`. */
  async measure(): Promise<void> {
    const sizes = this.#guests().map(async ({ process }) => {
      const [status, tmpfsBytes] = await Promise.all([process.inspect(), process.tmpfsBytes()]);
      return (status?.memoryBytes ?? 0) + tmpfsBytes;
    });
    this.memoryBytes = (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Ends the guests of the slot with their runs. A run that follows waits as after crashes. */
  endGuests(problem: Problem): void {
    for (const guest of this.#guests()) guest.crash(problem);
    this.memoryBytes = 0;
  }

  /** Ends the guests of the slot. */
  close(): void {
    for (const guest of this.#guests()) guest.close(CLOSED);
    this.#draining = [];
    this.#warm = null;
  }

  #guests(): readonly Guest[] {
    const alive = this.#draining.filter((each) => !each.ended);
    return this.#warm ? [...alive, this.#warm.guest] : alive;
  }

  /** Whether a further guest may drain without ending another one, and counts it if it may. */
  readonly #mayDrain = (guest: Guest): boolean => {
    const { draining, mostDraining } = this.owner.head;
    for (const each of draining) if (each.ended) draining.delete(each);
    if (draining.size >= mostDraining) return false;
    if (this.#draining.filter((each) => !each.ended).length >= MAX_DRAINING) return false;
    draining.add(guest);
    return true;
  };

  /** Removes a guest that takes no new run, and lets it finish its runs. */
  #letGo(guest: Guest): void {
    this.#warm = null;
    if (guest.crashedMs !== null) {
      this.#crashes.died(guest.crashedMs, guest.crashedMs - this.#warmSinceMs, guest.answered > 0);
    }
    // Draining guests are not counted as containers. So a task that keeps its guests from ending must not collect them.
    this.#draining = [...this.#draining.filter((each) => !each.ended), guest];
    if (this.#draining.length > MAX_DRAINING) this.#draining.shift()!.end(CLOSED);
    const { draining, mostDraining } = this.owner.head;
    for (const each of draining) if (each.ended) draining.delete(each);
    draining.add(guest);
    if (draining.size <= mostDraining) return;
    const [oldest] = draining;
    draining.delete(oldest!);
    oldest!.end(CLOSED);
  }

  async #take(): Promise<Taken> {
    try {
      const taken = await this.#pool.take({
        holder: this.owner.head,
        isPublic: this.isPublic,
        replaces: this.#warmSinceMs > 0,
      });
      // Set before the guest receives any code.
      taken.guest.net = this.group.net;
      taken.guest.ownerFamily = this.owner.family;
      taken.guest.mayDrain = this.#mayDrain;
      this.#warm = { guest: taken.guest, start: "warm" };
      this.#warmSinceMs = performance.now();
      return taken;
    } finally {
      this.#arriving = null;
    }
  }
}

async function settledWithin(guest: Guest, milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await Promise.race([guest.heartbeat.settled(), promise]);
  clearTimeout(timer);
}

/** Counts a slot for its owner, or removes it from the counts. */
export function countLive({ owner, isPublic }: GuestSlot, change: 1 | -1): void {
  for (const load of owner.members) {
    load.live += change;
    if (isPublic) load.publicLive += change;
  }
}
