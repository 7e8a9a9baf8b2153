import { NetworkCounts } from "./network-counts.ts";

/**
 * Counts the requests of each client network that are under way, and limits them. Behind a proxy, connections belong to the
 * proxy and have no limit, so that one client without a token could take all of them with bodies that it never finishes. On its
 * own connections, a client could send many requests at once, which all wait for their answers in memory.
 */
export class RequestShare {
  readonly #underWay: NetworkCounts;

  /** @param most the most requests of a network: as many as it may have connections */
  constructor(most: number) {
    this.#underWay = new NetworkCounts(most);
  }

  /** The number of networks and sites that have requests under way. */
  get networks(): number {
    return this.#underWay.size;
  }

  /** Counts a request. @returns false, without an effect, if the network has its share */
  begin(network: string): boolean {
    return this.#underWay.add(network) === null;
  }

  /** Ends a request that was counted. */
  end(network: string): void {
    this.#underWay.remove(network);
  }
}
