import { availableParallelism } from "node:os";

import type { Guest } from "../guest/guest.ts";
import { actOnFinding } from "./act-on-finding.ts";
import { type DueJudges, type GuestStates, Judges, type MonitorLimits, NO_STATES } from "./judges.ts";
import { chooseSamples, leastBetweenMs } from "./sampling-order.ts";
import type { StallState } from "./stall-state.ts";
import { giveTurns } from "./stall-turns.ts";
import { sample } from "./usage-sample.ts";

export const TICK_MS = 25;

interface Watched {
  readonly guest: Guest;
  states: GuestStates;
  isSampling: boolean;
}

interface Request extends DueJudges {
  readonly watched: Watched;
}

export interface MonitorSettings {
  /** The clock of `performance.now()`; a test passes its own. */
  readonly clock?: () => number;
  /** The number of guests that have a turn at a time. */
  readonly processors?: number;
}

/** Samples guests and acts on the judges' findings. A tick takes at most one sample of a guest, and at most 50 in total. */
export class ResourceMonitor {
  readonly #limits: MonitorLimits;
  readonly #judges: Judges;
  readonly #clock: () => number;
  readonly #processors: number;
  readonly #watched: WeakMap<Guest, Watched> = new WeakMap();
  /** When turns were last assigned. */
  #turnsMs = 0;

  constructor(limits: MonitorLimits, settings: MonitorSettings = {}) {
    this.#limits = limits;
    this.#judges = new Judges(limits);
    this.#clock = settings.clock ?? ((): number => performance.now());
    this.#processors = settings.processors ?? availableParallelism();
  }

  /** Whether the guest keeps using the processor. */
  isHog(guest: Guest): boolean {
    return this.#watched.get(guest)?.states.hog?.isHog ?? false;
  }

  /** Requests the samples of one tick, and gives turns. Must be called after the pings of the tick. */
  tick(guests: ReadonlySet<Guest>, nowMs: number): void {
    const leastMs = leastBetweenMs(guests.size, TICK_MS);
    const due: Request[] = [];
    const stalled: Watched[] = [];
    for (const guest of guests) {
      if (guest.ended) continue;
      const watched = this.#watchedOf(guest);
      const { stall } = watched.states;
      if (stall && stall.pingedMs === guest.heartbeat.pingedMs) stalled.push(watched);
      else if (stall) watched.states = { ...watched.states, stall: null };
      const request = watched.isSampling ? null : this.#judges.due(watched.states, guest, leastMs, nowMs);
      if (request) due.push({ ...request, watched });
    }
    for (const request of chooseSamples(due)) void this.#sample(request, nowMs);
    this.#giveTurns(stalled, nowMs);
  }

  #watchedOf(guest: Guest): Watched {
    const known = this.#watched.get(guest);
    if (known) return known;
    const watched = { guest, states: NO_STATES, isSampling: false };
    this.#watched.set(guest, watched);
    return watched;
  }

  async #sample(request: Request, nowMs: number): Promise<void> {
    const { watched } = request;
    const { guest } = watched;
    watched.isSampling = true;
    watched.states = this.#judges.afterRequest(watched.states, request, guest.runs, nowMs);
    const taken = await sample(guest, nowMs, this.#clock);
    watched.isSampling = false;
    if (!taken || guest.ended) return;
    const { states, finding } = this.#judges.afterSample(watched.states, request, taken, guest);
    watched.states = states;
    // Until the guest has ended, no other sample is taken.
    watched.isSampling = finding === "blocked";
    if (finding) await actOnFinding(finding, guest, taken, this.#limits);
    if (states.stall?.samples === 0 && !guest.ended) lowerPriority(guest, states.stall);
  }

  /** Guests that owe an answer have the lowest priority, except for those that are spared, and those that have a turn. */
  #giveTurns(stalled: readonly Watched[], nowMs: number): void {
    const sinceMs = nowMs - this.#turnsMs;
    this.#turnsMs = nowMs;
    const waiting: { watched: Watched; stall: StallState }[] = [];
    for (const watched of stalled) {
      const stall = watched.states.stall!;
      if (!stall.isSpared && this.#judges.needsTurn(stall, nowMs)) waiting.push({ watched, stall });
      else lowerPriority(watched.guest, stall);
    }
    const turns = waiting.map(({ watched, stall }) => ({ ...stall, hasTurn: watched.guest.priority === "normal" }));
    for (const [index, { turnMs, hasTurn }] of giveTurns(turns, sinceMs, this.#processors).entries()) {
      const { watched, stall } = waiting[index]!;
      watched.states = { ...watched.states, stall: { ...stall, turnMs } };
      watched.guest.setPriority(hasTurn ? "normal" : "low");
    }
  }
}

/** Gives a guest that owes an answer the lowest priority. A guest that is spared keeps its own. */
function lowerPriority(guest: Guest, { isSpared }: StallState): void {
  if (!isSpared) guest.setPriority("low");
  else if (guest.priority === "low") guest.setPriority("normal");
}
