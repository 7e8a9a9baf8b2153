/**
 * Divides the connections of all guests between token families. A family may have as many open as are left. So one family gets half of
 * them, and connections are always left for further families, however many guests a family has.
 */
export class ConnectionShares {
  readonly #most: number;
  readonly #byFamily = new Map<string, number>();
  #open = 0;

  /** @param most the maximum number of open connections. Each takes a file descriptor of the service. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Returns why the family may open no connection, or null if it may. */
  whyFull(family: string): string | null {
    const left = this.#most - this.#open;
    const own = this.#byFamily.get(family) ?? 0;
    if (own < left) return null;
    return left <= 0
      ? "the service has its maximum of open connections"
      : `the token and its relatives have ${own} open connections, and the service has ${left} more for all others`;
  }

  add(family: string): void {
    this.#open++;
    this.#byFamily.set(family, (this.#byFamily.get(family) ?? 0) + 1);
  }

  remove(family: string): void {
    this.#open--;
    const own = this.#byFamily.get(family)! - 1;
    if (own === 0) this.#byFamily.delete(family);
    else this.#byFamily.set(family, own);
  }
}
