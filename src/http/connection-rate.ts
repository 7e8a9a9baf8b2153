import { clientSite } from "../client-site.ts";

/** The new connections of one site in a second while others wait to be accepted, as nginx has them in `deploy/nginx.conf`. */
export const RATE = 500;
/** The connections that a site may open at once. */
export const BURST = 1_000;
/** After this time without a connection a site may open as many as at first. */
const FULL_MS = (1_000 * BURST) / RATE;

interface Bucket {
  /** The connections that the site may open now. */
  left: number;
  atMs: number;
}

/**
 * Limits the rate of new connections of each site, with a token bucket. The kernel passes connections to the service in the order
 * in which they were opened, so a site that opens more than the service accepts makes those of all others wait. To end a connection at
 * once takes a fifth of the time that one with a request takes.
 */
export class ConnectionRate {
  readonly #now: () => number;
  /** The sites with connections since the last change of the maps. A bucket that is in neither map is full. */
  #latest = new Map<string, Bucket>();
  #earlier = new Map<string, Bucket>();
  #changedMs = -Infinity;

  /** @param now returns milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Counts a new connection.
   *
   * @param network the network of the client
   * @returns whether the site of the network has not exceeded its rate
   */
  admits(network: string): boolean {
    const now = this.#now();
    if (now - this.#changedMs > FULL_MS) {
      this.#earlier = now - this.#changedMs > 2 * FULL_MS ? new Map() : this.#latest;
      this.#latest = new Map();
      this.#changedMs = now;
    }
    const site = clientSite(network);
    let bucket = this.#latest.get(site);
    if (!bucket) {
      bucket = this.#earlier.get(site) ?? { left: BURST, atMs: now };
      this.#latest.set(site, bucket);
    }
    bucket.left = Math.min(BURST, bucket.left + ((now - bucket.atMs) * RATE) / 1_000);
    bucket.atMs = now;
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
  }
}
