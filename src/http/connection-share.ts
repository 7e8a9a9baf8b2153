import type { Socket } from "node:net";

import { NetworkCounts } from "./network-counts.ts";
import type { Proxies } from "./proxies.ts";

/**
 * Counts the connections of each client network, and limits them. A client needs no token to hold a connection, and without
 * this limit one address could take all connections of the service. Networks without connections are forgotten.
 *
 * The connections of trusted proxies are not limited, because they carry the requests of many clients.
 */
export class ConnectionShare {
  readonly #proxies: Pick<Proxies, "networkOf">;
  readonly #onRefused: (network: string, why: string) => void;
  readonly #open: NetworkCounts;

  /**
   * @param mostOfNetwork the most connections of one network. All networks of a site have twice as many
   * @param onRefused called for each refused connection with the network or site; it must limit its own work
   */
  constructor(
    mostOfNetwork: number,
    proxies: Pick<Proxies, "networkOf">,
    onRefused: (network: string, why: string) => void,
  ) {
    this.#open = new NetworkCounts(mostOfNetwork);
    this.#proxies = proxies;
    this.#onRefused = onRefused;
  }

  /** The number of networks and sites that have connections. */
  get networks(): number {
    return this.#open.size;
  }

  /**
   * Counts a new connection until it closes.
   *
   * @param socket the TCP socket, also with TLS: a client may never finish its handshake
   * @returns false, without an effect, if the network has its share; then the caller must end the connection
   */
  admits(socket: Socket): boolean {
    const network = this.#proxies.networkOf(socket);
    if (network === null) return true;
    const full = this.#open.add(network);
    if (full) {
      this.#onRefused(full.name, `has ${full.count} open, which is its share`);
      return false;
    }
    socket.once("close", () => this.#open.remove(network));
    return true;
  }
}
