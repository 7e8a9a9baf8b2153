import type { Socket } from "node:net";

import type { Proxies } from "./proxies.ts";

/**
 * Counts the connections of each client network, and limits them. A client needs no token to hold a connection, and without
 * this limit one address could take all connections of the service. Networks without connections are forgotten.
 *
 * The connections of trusted proxies are not limited, because they carry the requests of many clients.
 */
export class ConnectionShare {
  readonly #mostOfNetwork: number;
  readonly #proxies: Pick<Proxies, "networkOf">;
  readonly #onRefused: (network: string, open: number) => void;
  readonly #open: Map<string, number> = new Map();

  /** @param onRefused called for each refused connection; it must limit its own work */
  constructor(
    mostOfNetwork: number,
    proxies: Pick<Proxies, "networkOf">,
    onRefused: (network: string, open: number) => void,
  ) {
    this.#mostOfNetwork = mostOfNetwork;
    this.#proxies = proxies;
    this.#onRefused = onRefused;
  }

  /** The number of networks that have connections. */
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
    const open = this.#open.get(network) ?? 0;
    if (open >= this.#mostOfNetwork) {
      this.#onRefused(network, open);
      return false;
    }
    this.#open.set(network, open + 1);
    socket.once("close", () => {
      const left = this.#open.get(network)! - 1;
      if (left === 0) this.#open.delete(network);
      else this.#open.set(network, left);
    });
    return true;
  }
}
