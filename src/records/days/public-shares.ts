import { clientSite } from "../../client-site.ts";

/** The divisor of a share for all clients without a token. The owner of a public task has the rest. */
const PUBLIC_PARTS = 2;
/** The divisor of that part for one network. A record can be large, so a smaller part would hold few records. */
const NETWORK_PARTS = 2;
/** How many times as much as one of its networks a site has. */
const OF_SITE = 1.5;

/** Returns the part of a family's share for the calls of all clients without a token. */
export function publicShare(bytes: number): number {
  return Math.floor(bytes / PUBLIC_PARTS);
}

/** Returns the part of a family's share for the calls of one network without a token. */
export function networkShare(bytes: number): number {
  return Math.floor(publicShare(bytes) / NETWORK_PARTS);
}

/** Returns the name under which the public calls of a family are counted. No family has a line break in its name. */
export function publicPartOf(family: string): string {
  return `${family}\npublic`;
}

/** What the records of each network and each site of clients without a token take of the share of a family. */
export class NetworkShares {
  readonly #most: number;
  readonly #counted: number;
  readonly #bytes = new Map<string, number>();

  /**
   * @param most the bytes of a network in a family
   * @param counted the most networks that are counted apart. The further ones of a family have one share together
   */
  constructor(most: number, counted: number) {
    this.#most = most;
    this.#counted = counted;
  }

  fits(family: string, network: string, bytes: number): boolean {
    const site = clientSite(network);
    return (
      this.#of(family, network) + bytes <= this.#most &&
      (site === network || this.#of(family, site) + bytes <= this.#most * OF_SITE)
    );
  }

  add(family: string, network: string, bytes: number): void {
    // Beyond the count, network and site have one key, which must not count twice.
    for (const key of new Set([network, clientSite(network)].map((name) => this.#keyOf(family, name)))) {
      this.#bytes.set(key, (this.#bytes.get(key) ?? 0) + bytes);
    }
  }

  clear(): void {
    this.#bytes.clear();
  }

  #of(family: string, name: string): number {
    return this.#bytes.get(this.#keyOf(family, name)) ?? 0;
  }

  #keyOf(family: string, network: string): string {
    const key = `${family}\n${network}`;
    // Further networks share with those of their own family: one family must not use up the count of all.
    return this.#bytes.has(key) || this.#bytes.size < this.#counted ? key : family;
  }
}
