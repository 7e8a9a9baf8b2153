/** A guest whose next sample is due. */
export interface DueSample {
  /** When the sample became due. */
  readonly dueMs: number;
  /** Whether it may end the guest, or the guest's turn. */
  readonly isUrgent: boolean;
}

/** The maximum number of samples in one tick. A sample takes about 90 µs of the service's one thread. */
export const MOST_SAMPLES = 50;
/** The maximum number of urgent samples that come before others. Guests that block at once must not hide a guest that grows. */
const MOST_URGENT = MOST_SAMPLES / 2;

/**
 * Chooses the samples of one tick: urgent ones first, and then the ones that have been due for longest. So each guest has
 * its sample, however many guests there are.
 */
export function chooseSamples<Due extends DueSample>(due: readonly Due[]): readonly Due[] {
  if (due.length <= MOST_SAMPLES) return due;
  const inOrder = due.toSorted((one, other) => one.dueMs - other.dueMs);
  const urgent = new Set(inOrder.filter(({ isUrgent }) => isUrgent).slice(0, MOST_URGENT));
  return [...urgent, ...inOrder.filter((each) => !urgent.has(each))].slice(0, MOST_SAMPLES);
}

/** Returns the minimum time between two samples for limits, so that the samples of many guests are spread evenly over ticks. */
export function leastBetweenMs(guests: number, tickMs: number): number {
  return guests <= MOST_SAMPLES ? 0 : Math.ceil(guests / MOST_SAMPLES) * tickMs;
}
