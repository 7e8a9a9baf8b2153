import { FROM_GUEST } from "../../wire/messages.ts";

/** The maximum cost of one guest in a tick of the watchdog (25 ms): two fifths of the service's one thread. */
const GUEST_UNITS = 10_000;
/** The maximum that a guest may save up while it sends little, so that a burst of honest answers is not paused. */
const MOST_UNITS = 2 * GUEST_UNITS;
/** The maximum cost, in a tick, of all guests together that have spent their budgets: the cost of one other guest. */
const PAUSED_UNITS = GUEST_UNITS;
const OTHER_FRAME_UNITS = 2;
const BYTES_A_UNIT = 4_096;

/**
 * The cost of a frame to the service, in units of about a microsecond. Other frames cost two units: they change a number or
 * are dropped.
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
  [FROM_GUEST.transform, 30],
  // Checks a destination, opens a connection or queries a name server.
  [FROM_GUEST.open, 100],
  [FROM_GUEST.lookup, 100],
]);

/**
 * What a guest may still cost the one thread that reads the frames of all guests. The service does not read a guest that
 * has spent its budget until the next tick. The kernel then blocks the guest's writes.
 */
export class FrameBudget {
  #units = MOST_UNITS;

  get isSpent(): boolean {
    return this.#units <= 0;
  }

  spend(type: number, payloadBytes: number): void {
    this.#units -= (FRAME_UNITS.get(type) ?? OTHER_FRAME_UNITS) + payloadBytes / BYTES_A_UNIT;
  }

  /** @param spent the number of guests that have spent their budgets. Together they get as much as one other guest. */
  refill(spent: number): void {
    const share = this.isSpent ? PAUSED_UNITS / Math.max(1, spent) : GUEST_UNITS;
    this.#units = Math.min(MOST_UNITS, this.#units + share);
  }
}
