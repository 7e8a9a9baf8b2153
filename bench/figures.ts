/** Collects times in milliseconds, and returns percentiles. */
export class Times {
  readonly #values: number[] = [];

  add(ms: number): void {
    this.#values.push(ms);
  }

  get count(): number {
    return this.#values.length;
  }

  /** Returns a percentile, or NaN if there are no times. @param share from 0 to 1; 1 is the longest time. */
  percentile(share: number): number {
    const sorted = this.#values.toSorted((one, other) => one - other);
    return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  }

  countOver(ms: number): number {
    return this.#values.filter((each) => each > ms).length;
  }

  inWords(): string {
    if (this.count === 0) return "none";
    const [p50, p95, max] = [0.5, 0.95, 1].map((share) => this.percentile(share).toFixed(1));
    return `p50 ${p50}, p95 ${p95}, longest ${max} ms (${this.count})`;
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
