const MINUTE_MS = 60_000;
/** The most families that are counted apart in one minute. Further ones have one share together. */
const MOST_FAMILIES = 10_000;
/** The most containers that are counted in one minute. */
const MOST_CONTAINERS = 10_000;
/**
 * The most containers that one family adds to the count. A caller can use any number of names, and must not use up the
 * count. Its further containers are counted by its own share, which is as large as that of a container.
 */
const MOST_CONTAINERS_OF_FAMILY = 100;

interface FamilyShare {
  bytes: number;
  /** The containers that this family has added to the count. */
  containers: number;
}

/**
 * The bytes of records that each family and each container may write in a minute. A flood of one family neither fills the
 * queue to the writer nor the files.
 */
export class Shares {
  readonly #rateBytes: number;
  readonly #families = new Map<string, FamilyShare>();
  readonly #containers = new Map<string, number>();
  #others: FamilyShare = { bytes: 0, containers: MOST_CONTAINERS_OF_FAMILY };
  #minute = Number.NaN;

  /** @param rateBytes the bytes a minute */
  constructor(rateBytes: number) {
    this.#rateBytes = rateBytes;
  }

  /** Returns whether both shares have that many bytes left. */
  fits(family: string, container: string, bytes: number, nowMs: number): boolean {
    this.#turn(nowMs);
    const ofFamily = this.#families.get(family)?.bytes ?? (this.#isFull ? this.#others.bytes : 0);
    return Math.max(ofFamily, this.#containers.get(container) ?? 0) + bytes <= this.#rateBytes;
  }

  /** Takes bytes from both shares. @returns false, without an effect, if one of them has too few left. */
  take(family: string, container: string, bytes: number, nowMs: number): boolean {
    if (!this.fits(family, container, bytes, nowMs)) return false;
    let share = this.#families.get(family);
    if (!share && this.#isFull) share = this.#others;
    if (!share) this.#families.set(family, (share = { bytes: 0, containers: 0 }));
    share.bytes += bytes;
    this.#count(share, container, bytes);
    return true;
  }

  get #isFull(): boolean {
    return this.#families.size >= MOST_FAMILIES;
  }

  #count(share: FamilyShare, container: string, bytes: number): void {
    const counted = this.#containers.get(container);
    if (counted === undefined) {
      if (share.containers >= MOST_CONTAINERS_OF_FAMILY || this.#containers.size >= MOST_CONTAINERS) return;
      share.containers += 1;
    }
    this.#containers.set(container, (counted ?? 0) + bytes);
  }

  #turn(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#families.clear();
    this.#containers.clear();
    this.#others = { bytes: 0, containers: MOST_CONTAINERS_OF_FAMILY };
  }
}
