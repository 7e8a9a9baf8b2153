/** The upper bounds of all buckets, in seconds. A last bucket has all longer times. */
export const BOUNDS_SECONDS: readonly number[] = [
  ...[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30, 60, 300],
];

/** Times in buckets. An observation takes nanoseconds, because each run makes several. */
export class Histogram {
  readonly #counts: number[] = Array.from({ length: BOUNDS_SECONDS.length + 1 }, () => 0);
  #count = 0;
  #sum = 0;

  /**
   * @param milliseconds a time that is not finite or negative counts as 0: it would make the sum useless for ever
   * @param times the number of observations of this time
   */
  observe(milliseconds: number, times: number = 1): void {
    const seconds = milliseconds > 0 && milliseconds < Infinity ? milliseconds / 1_000 : 0;
    let bucket = 0;
    while (bucket < BOUNDS_SECONDS.length && seconds > BOUNDS_SECONDS[bucket]!) bucket++;
    this.#counts[bucket]! += times;
    this.#count += times;
    this.#sum += seconds * times;
  }

  get count(): number {
    return this.#count;
  }

  /** In seconds. */
  get sum(): number {
    return this.#sum;
  }

  /** The number of observations up to each bound, without the last bucket. */
  cumulative(): number[] {
    let total = 0;
    return BOUNDS_SECONDS.map((_, bucket) => (total += this.#counts[bucket]!));
  }
}
