import { Problem } from "../errors.ts";
import type { Priority } from "../sandbox/sandbox.ts";
import { formatDuration } from "../units.ts";
import { Burners } from "./burners.ts";
import type { Flight } from "./flight.ts";
import type { Guest } from "./guest.ts";
import { type Holding, Scales } from "./scales.ts";
import { Suspects } from "./suspects.ts";
import { isPingDue } from "./watch/heartbeat.ts";

export interface WatchdogOptions extends Holding {
  readonly wallMs: number;
  readonly streamMs: number;
  readonly blockMs: number;
}

const TICK_MS = 25;
/** A tick that comes so much later than the one before means that the service was held up. */
const LATE_MS = 200;
/** For as long, from its first run on, a guest that has answered none comes before others: it may stand in for a lost one. */
const NEW_MS = 150;

/**
 * Watches all guests from outside: the deadlines of their runs, and whether their event loops still turn.
 *
 * A task that reads the descriptor of its guest can answer pings in place of the event loop that it blocks. Nothing seen
 * from outside tells that loop from Node's. It gains the time from its block limit to its deadline, in a guest that only
 * its own party uses, and is then told `task_timeout` instead of `task_blocked`.
 */
export class Watchdog {
  readonly #guests: ReadonlySet<Guest>;
  readonly #options: WatchdogOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #suspects: Suspects;
  readonly #burners: Burners;
  readonly #scales: Scales;
  #lastTickMs: number = performance.now();
  #afterRead: NodeJS.Immediate | null = null;

  constructor(guests: ReadonlySet<Guest>, options: WatchdogOptions) {
    this.#guests = guests;
    this.#options = options;
    this.#burners = new Burners(options.cpuCores);
    this.#scales = new Scales(options);
    this.#suspects = new Suspects(options, (guest, title) => this.#endBlocked(guest, title));
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    clearImmediate(this.#afterRead ?? undefined);
  }

  #tick(): void {
    const nowMs = performance.now();
    const late = nowMs - this.#lastTickMs > LATE_MS;
    // The service itself was held up: answers may lie unread in the sockets. They have been read when the event loop has turned.
    if (late) this.#afterRead = setImmediate(() => this.#checkPulses());
    this.#lastTickMs = nowMs;
    const paused = this.#guests.values().reduce((count, guest) => count + Number(guest.isPaused), 0);
    this.#scales.tick(this.#guests.size, TICK_MS);
    for (const guest of this.#guests) {
      if (guest.ended) continue;
      guest.tick(paused);
      this.#checkDeadlines(guest, nowMs);
      void this.#scales.weigh(guest, nowMs);
      // Without a control group there is no priority to be set.
      if (this.#options.held.cpu) this.#burners.watch(guest, nowMs);
    }
    if (!late) this.#checkPulses();
  }

  #checkPulses(): void {
    const nowMs = performance.now();
    for (const guest of this.#guests) {
      // A guest that is being started is not judged: a start has a time of its own, and on a busy machine takes most of it.
      if (!guest.ended && guest.warm) this.#checkPulse(guest, nowMs);
    }
    this.#suspects.takeTurns(nowMs);
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
    const { pingedMs } = guest.heartbeat;
    if (pingedMs !== null) return this.#suspects.watch(guest, pingedMs, nowMs);
    guest.setPriority(this.#priorityOf(guest, nowMs));
    if (isPingDue(guest, nowMs)) guest.ping(nowMs);
  }

  #priorityOf(guest: Guest, nowMs: number): Priority {
    if (this.#burners.isBusy(guest)) return "busy";
    return guest.answered > 0 || nowMs - guest.begunMs > NEW_MS ? "normal" : "high";
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

/** The run that the guest says it has entered (`r` and its id in base 36), or the only one there is; null: untold. */
function blockedRun(guest: Guest, title: string): number | null {
  const entered = /^r([0-9a-z]{1,7})$/.exec(title);
  const id = entered ? Number.parseInt(entered[1]!, 36) : Number.NaN;
  return guest.flights.get(id) ? id : guest.flights.only;
}
