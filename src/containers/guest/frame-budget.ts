import { FROM_GUEST } from "../../wire/messages.ts";

/** What one guest may cost in a tick of the watchdog (25 ms): two fifths of the service's one thread. */
const GUEST_UNITS = 10_000;
/** What a guest may save up while it sends little: a burst of honest answers is not paused. */
const MOST_UNITS = 2 * GUEST_UNITS;
/** What all guests together may cost in a tick that have used up their own: as much as one guest. */
const PAUSED_UNITS = GUEST_UNITS;
const OTHER_FRAME_UNITS = 2;
const BYTES_A_UNIT = 4_096;

/**
 * What a frame costs the service, in units of about a microsecond. The rest costs two: a frame that changes a number, and a
 * frame that is dropped.
 */
const FRAME_UNITS: ReadonlyMap<number, number> = new Map([
  // Writes to a response or to a connection.
  [FROM_GUEST.result, 5],
  [FROM_GUEST.data, 5],
  [FROM_GUEST.end, 5],
  [FROM_GUEST.sent, 5],
  // Parses a message or writes a line of the log.
  [FROM_GUEST.head, 30],
  [FROM_GUEST.fault, 30],
  [FROM_GUEST.log, 20],
  [FROM_GUEST.lateError, 30],
  // Checks a place, opens a connection or asks a name server.
  [FROM_GUEST.open, 100],
  [FROM_GUEST.lookup, 100],
]);

/**
 * What a guest may still cost the one thread that reads the frames of all guests, whatever it sends. A guest that has used
 * it up is not read until the next tick: the kernel then makes it wait.
 */
export class FrameBudget {
  #units = MOST_UNITS;

  get isSpent(): boolean {
    return this.#units <= 0;
  }

  spend(type: number, payloadBytes: number): void {
    this.#units -= (FRAME_UNITS.get(type) ?? OTHER_FRAME_UNITS) + payloadBytes / BYTES_A_UNIT;
  }

  /** @param spent how many guests have used up their budgets: together they get no more than one other guest. */
  refill(spent: number): void {
    const share = this.isSpent ? PAUSED_UNITS / Math.max(1, spent) : GUEST_UNITS;
    this.#units = Math.min(MOST_UNITS, this.#units + share);
  }
}
