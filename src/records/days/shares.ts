import { NetworkShares, networkShare, publicShare } from "./public-shares.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/**
 * The part of the counted containers that one family may add, at the least one. A caller can use any number of names, and must
 * not use up the count. Its further containers are counted by its own share, which is as large as that of a container.
 */
const OF_FAMILY = 1 / 100;

/** What the records of a family or of a container have taken. */
interface Share {
  bytes: number;
  /** The part of it for clients without a token. */
  publicBytes: number;
}

interface FamilyShare extends Share {
  /** The containers that this family has added to the count. */
  containers: number;
}

/**
 * The bytes of records that each family and each container may write in a minute. A flood of one family neither fills the
 * queue to the writer nor the files. Clients without a token together get a part of both, and of that part each of their
 * networks, also of the quota of a day: a stranger must not use up the history of the owner of a public task.
 */
export class Shares {
  readonly #rateBytes: number;
  /** The most families that are counted apart in one minute, and the most containers. Further families have one share together. */
  readonly #most: number;
  readonly #containersOfFamily: number;
  readonly #families = new Map<string, FamilyShare>();
  readonly #containers = new Map<string, Share>();
  #others: FamilyShare;
  readonly #minuteNetworks: NetworkShares;
  /** The writer holds families to their quota. It does not know networks, so a restart forgets what they have taken. */
  readonly #dayNetworks: NetworkShares;
  #minute = Number.NaN;
  #day = Number.NaN;

  /**
   * @param rateBytes the bytes a minute
   * @param dayBytes the bytes of a family a day
   * @param counted the most families, containers and networks that are counted apart
   */
  constructor(rateBytes: number, dayBytes: number, counted: number) {
    this.#rateBytes = rateBytes;
    this.#most = counted;
    this.#containersOfFamily = Math.ceil(counted * OF_FAMILY);
    this.#others = newShare(this.#containersOfFamily);
    this.#minuteNetworks = new NetworkShares(networkShare(rateBytes), counted);
    this.#dayNetworks = new NetworkShares(networkShare(dayBytes), counted);
  }

  /**
   * Returns whether all shares have that many bytes left.
   *
   * @param network the network of a client without a token; null if the client has a token
   */
  fits(family: string, container: string, bytes: number, nowMs: number, network: string | null = null): boolean {
    this.#turn(nowMs);
    const ofFamily = this.#families.get(family) ?? (this.#isFull ? this.#others : undefined);
    for (const share of [ofFamily, this.#containers.get(container)]) {
      if ((share?.bytes ?? 0) + bytes > this.#rateBytes) return false;
      if (network !== null && (share?.publicBytes ?? 0) + bytes > publicShare(this.#rateBytes)) return false;
    }
    if (network === null) return true;
    return this.#minuteNetworks.fits(family, network, bytes) && this.#dayNetworks.fits(family, network, bytes);
  }

  /** Takes bytes from all shares. @returns false, without an effect, if one of them has too few left. */
  take(family: string, container: string, bytes: number, nowMs: number, network: string | null = null): boolean {
    if (!this.fits(family, container, bytes, nowMs, network)) return false;
    let share = this.#families.get(family);
    if (!share && this.#isFull) share = this.#others;
    if (!share) this.#families.set(family, (share = newShare(0)));
    const publicBytes = network === null ? 0 : bytes;
    share.bytes += bytes;
    share.publicBytes += publicBytes;
    this.#count(share, container, bytes, publicBytes);
    if (network !== null)
      for (const each of [this.#minuteNetworks, this.#dayNetworks]) each.add(family, network, bytes);
    return true;
  }

  get #isFull(): boolean {
    return this.#families.size >= this.#most;
  }

  #count(family: FamilyShare, container: string, bytes: number, publicBytes: number): void {
    let counted = this.#containers.get(container);
    if (!counted) {
      if (family.containers >= this.#containersOfFamily || this.#containers.size >= this.#most) return;
      family.containers += 1;
      this.#containers.set(container, (counted = { bytes: 0, publicBytes: 0 }));
    }
    counted.bytes += bytes;
    counted.publicBytes += publicBytes;
  }

  #turn(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#families.clear();
    this.#containers.clear();
    this.#others = newShare(this.#containersOfFamily);
    this.#minuteNetworks.clear();
    const day = Math.floor(nowMs / DAY_MS);
    if (day !== this.#day) this.#dayNetworks.clear();
    this.#day = day;
  }
}

function newShare(containers: number): FamilyShare {
  return { bytes: 0, publicBytes: 0, containers };
}
