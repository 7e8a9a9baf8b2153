/**
 * Counts the requests of each client network that are under way, and limits them. Behind a proxy, connections belong to the
 * proxy and have no limit, so that one client without a token could take all of them with bodies that it never finishes. On its
 * own connections, a client could send many requests at once, which all wait for their answers in memory.
 */
export class RequestShare {
  readonly #most: number;
  readonly #underWay = new Map<string, number>();

  /** @param most the most requests of a network: as many as it may have connections */
  constructor(most: number) {
    this.#most = most;
  }

  /** The number of networks that have requests under way. */
  get networks(): number {
    return this.#underWay.size;
  }

  /** Counts a request. @returns false, without an effect, if the network has its share */
  begin(network: string): boolean {
    const count = this.#underWay.get(network) ?? 0;
    if (count >= this.#most) return false;
    this.#underWay.set(network, count + 1);
    return true;
  }

  /** Ends a request that was counted. */
  end(network: string): void {
    const left = this.#underWay.get(network)! - 1;
    if (left === 0) this.#underWay.delete(network);
    else this.#underWay.set(network, left);
  }
}
