import { Problem } from "../errors.ts";
import type { GuestStatus, Priority } from "../sandbox/sandbox.ts";
import { formatDuration } from "../units.ts";
import { Burners } from "./burners.ts";
import type { Flight } from "./flight.ts";
import type { Guest } from "./guest.ts";
import { type Holding, Scales } from "./scales.ts";

export interface WatchdogOptions extends Holding {
  readonly wallMs: number;
  readonly streamMs: number;
  readonly blockMs: number;
}

const TICK_MS = 50;
const BUSY_PING_MS = 100;
const IDLE_PING_MS = 1_000;
/** A guest that was kept waiting by the machine for more than so much of the time may be innocent. */
const HELD_UP = 0.5;
/**
 * But not once it has burned so much of the limit, and as much as no honest step takes: on a machine whose processors many
 * share, one that blocks would else wait for its end, and have its share of them, all the longer.
 */
const BURNED_ENOUGH = 1 / 8;
const LONG_STEP_MS = 250;
/** From this part of the limit on it has its full share again, until it has burned so much: by the limit it can be judged. */
const HURRY = 1 / 4;
/** For as long an honest guest may compute in one go and have all of its share of the processor. */
const SLOW_MS = 100;
/** For as long, from its first run on, a guest that has answered none comes before others: it may stand in for a lost one. */
const NEW_MS = 150;

/** What the kernel has said of a guest since it owes the answer to a ping. */
interface Suspicion {
  readonly pingedMs: number;
  readonly sinceMs: number;
  readonly first: GuestStatus;
  looks: number;
  /** Looks at which its main thread slept. */
  asleep: number;
  looking: boolean;
}

/**
 * Watches all guests from outside: the deadlines of their runs, and whether their event loops still turn.
 *
 * A guest that does not answer a ping is blocked when its main thread burns CPU or sleeps. When it is runnable and gets
 * no processor, the machine is busy, and it is given time: until it has burned, by and by, an eighth of the processor
 * time that the limit is long, or its quota's share of it. Threads of its own are thus no place to hide. From the first
 * tenth of a second on, one that owes an answer has the processor only after those that do not; but where it got too
 * little to be judged, it has its share back from a quarter of the limit on.
 *
 * A task that reads the descriptor of its guest can answer pings in place of the event loop that it blocks. Nothing seen
 * from outside tells that loop from Node's. It gains the time from its block limit to its deadline, in a guest that only
 * its own party uses, and is then told `task_timeout` instead of `task_blocked`.
 */
export class Watchdog {
  readonly #guests: ReadonlySet<Guest>;
  readonly #options: WatchdogOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #suspects: WeakMap<Guest, Suspicion> = new WeakMap();
  readonly #burners: Burners;
  readonly #scales: Scales;
  #lastTickMs: number = performance.now();

  constructor(guests: ReadonlySet<Guest>, options: WatchdogOptions) {
    this.#guests = guests;
    this.#options = options;
    this.#burners = new Burners(options.cpuCores);
    this.#scales = new Scales(options);
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const nowMs = performance.now();
    const late = nowMs - this.#lastTickMs > 4 * TICK_MS;
    this.#lastTickMs = nowMs;
    for (const guest of this.#guests) {
      if (guest.ended) continue;
      guest.noise = 0;
      this.#checkDeadlines(guest, nowMs);
      // The service itself was held up: answers may lie unread in the sockets, so no pulse is judged before the next tick.
      // Nor that of a guest that is being started: a start has a time of its own, and on a busy machine takes most of it.
      if (!late && guest.warm) this.#checkPulse(guest, nowMs);
      void this.#scales.weigh(guest, nowMs);
      // Without a control group there is no priority to be set.
      if (this.#options.kernelHoldsResources) this.#burners.watch(guest, nowMs);
    }
  }

  /** A run that waits too long ends alone; its guest takes no new one, because what the run left behind is still there. */
  #checkDeadlines(guest: Guest, nowMs: number): void {
    for (const [id, flight] of guest.flights) {
      if (flight.deadlineMs > nowMs) continue;
      guest.expire(id, this.#overdue(flight));
    }
  }

  #overdue(flight: Flight): Problem {
    const { wallMs, streamMs } = this.#options;
    if (flight.answered) {
      return new Problem("task_timeout", "what the task gave to waitUntil was not over by the deadline of its run");
    }
    const hint = hintOf(flight);
    const what = flight.streaming
      ? `the result was still streaming after ${formatDuration(streamMs)}`
      : `the task gave no result within ${formatDuration(wallMs)}`;
    return new Problem("task_timeout", what, hint === null ? {} : { hint });
  }

  #checkPulse(guest: Guest, nowMs: number): void {
    if (guest.pulse.pingedMs === null) {
      setPriority(guest, this.#priorityOf(guest, nowMs));
      const every = guest.flights.size > 0 ? BUSY_PING_MS : IDLE_PING_MS;
      if (nowMs - guest.pulse.lastPingMs >= every) guest.ping(nowMs);
      return;
    }
    const silentMs = nowMs - guest.pulse.pingedMs;
    if (silentMs < Math.min(SLOW_MS, this.#options.blockMs / 4)) return;
    void this.#suspect(guest, guest.pulse.pingedMs);
  }

  #priorityOf(guest: Guest, nowMs: number): Priority {
    if (this.#burners.isBusy(guest)) return "busy";
    return guest.answered > 0 || nowMs - guest.begunMs > NEW_MS ? "normal" : "high";
  }

  async #suspect(guest: Guest, pingedMs: number): Promise<void> {
    const known = this.#suspects.get(guest);
    const suspicion = known?.pingedMs === pingedMs ? known : null;
    if (suspicion?.looking) return;
    if (suspicion) suspicion.looking = true;
    const status = await guest.process.inspect();
    if (suspicion) suspicion.looking = false;
    // It may have answered, or ended, while the kernel was asked.
    if (!status || guest.ended || guest.pulse.pingedMs !== pingedMs) return;
    const atMs = performance.now();
    if (!suspicion) {
      setPriority(guest, "low");
      this.#suspects.set(guest, { pingedMs, sinceMs: atMs, first: status, looks: 0, asleep: 0, looking: false });
      return;
    }
    suspicion.looks++;
    if (SLEEPS.has(status.state)) suspicion.asleep++;
    const { blockMs, cpuCores } = this.#options;
    const burnedMs = (status.cpuMs - suspicion.first.cpuMs) / Math.min(1, cpuCores);
    const hurries = atMs - pingedMs >= blockMs * HURRY && burnedMs < enoughMs(blockMs);
    setPriority(guest, hurries ? "normal" : "low");
    if (atMs - pingedMs < blockMs) return;
    const heldUp = 1 - suspicion.asleep / suspicion.looks - burnedMs / (atMs - suspicion.sinceMs);
    if (heldUp <= HELD_UP || burnedMs >= enoughMs(blockMs)) this.#endBlocked(guest, status.title);
  }

  #endBlocked(guest: Guest, title: string): void {
    const duration = formatDuration(this.#options.blockMs);
    const culprit = blockedRun(guest, title);
    const restarted = new Problem("container_restarted", `another run blocked the container for ${duration}`);
    if (culprit === null) return guest.crash(restarted);
    const cause = new Problem("task_blocked", `the task blocked its event loop for ${duration}`, {
      hint: "Split long work with await, or have the operator raise --block-limit.",
    });
    guest.crash(restarted, { id: culprit, cause });
  }
}

/** What keeps such a code from an answer most often. */
function hintOf({ code, streaming }: Flight): string | null {
  if (code.answersBy === "response") {
    return streaming
      ? "A function of (context, req, res) has answered when it calls res.end(): perhaps that was never called."
      : "res.end() was never called: a function of (context, req, res) answers by it, on every path.";
  }
  if (code.answersBy === "value" || streaming) return null;
  return "cb was never called, or with a promise that does not settle: a function of (cb) or (context, cb) answers by cb(error, result), on every path. A Node handler has three parameters, (context, req, res).";
}

function setPriority(guest: Guest, priority: Priority): void {
  if (guest.priority !== priority) guest.setPriority(priority);
}

/** Of a short limit it is what an innocent one at the edge would burn within it. */
function enoughMs(blockMs: number): number {
  return Math.min(blockMs * (1 - HELD_UP), Math.max(blockMs * BURNED_ENOUGH, LONG_STEP_MS));
}

/** Waiting for something, for the disk, or stopped. One that is just ending is none of these: its own cause comes. */
const SLEEPS: ReadonlySet<string> = new Set(["S", "D", "T", "t"]);

/** The run that the guest says it has entered (`r` and its id in base 36), or the only one there is; null: untold. */
function blockedRun(guest: Guest, title: string): number | null {
  const entered = /^r([0-9a-z]{1,7})$/.exec(title);
  const id = entered ? Number.parseInt(entered[1]!, 36) : Number.NaN;
  return guest.flights.get(id) ? id : guest.flights.only;
}
