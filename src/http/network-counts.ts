import { clientSite } from "../client-site.ts";

/** How many times as much as one of its networks a site may have: other sites must still get something. */
const OF_SITE = 2;

/** A network or a site that has its share. */
export interface FullShare {
  /** The network, or the site if its networks together have the share of a site. */
  readonly name: string;
  readonly count: number;
}

/** Counts what client networks hold, with a limit for each network, and one for all networks of a site together. */
export class NetworkCounts {
  readonly #most: number;
  /** By network and by site. The site of an IPv4 address is the address itself. */
  readonly #counts = new Map<string, number>();

  /** @param most the most of one network */
  constructor(most: number) {
    this.#most = most;
  }

  /** The number of networks and sites that hold something. */
  get size(): number {
    return this.#counts.size;
  }

  /** Counts one more of a network. @returns null, or the full share; then nothing has changed */
  add(network: string): FullShare | null {
    const site = clientSite(network);
    const count = this.#counts.get(network) ?? 0;
    if (count >= this.#most) return { name: network, count };
    if (site !== network) {
      const ofSite = this.#counts.get(site) ?? 0;
      if (ofSite >= OF_SITE * this.#most) return { name: site, count: ofSite };
      this.#counts.set(site, ofSite + 1);
    }
    this.#counts.set(network, count + 1);
    return null;
  }

  /** Reverses one `add`. */
  remove(network: string): void {
    const site = clientSite(network);
    for (const name of site === network ? [network] : [network, site]) {
      const left = this.#counts.get(name)! - 1;
      if (left === 0) this.#counts.delete(name);
      else this.#counts.set(name, left);
    }
  }
}
