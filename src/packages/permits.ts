import { Slices } from "../next-turn.ts";
import type { PackageSet } from "./model.ts";
import { mayName, packagesInSteps, packagesOf, type Ranges } from "./names.ts";
import type { AddedPermit, PermitStore } from "./permit-store.ts";
import { defaultRange, type PackagePolicy, type PackagesClaim, requirePermitted } from "./policy.ts";

/** The longest text whose packages are remembered, in bytes: the texts of most tasks are shorter. */
const MAX_REMEMBERED = 16_384;
/** The memory for remembered texts. */
const MEMORY_BYTES = 4 * 2 ** 20;
const ENTRY_BYTES = 512;

/** The permitted packages of a text that was read before. */
interface Remembered {
  readonly set: PackageSet;
  readonly claim: PackagesClaim;
}

/** Specifiers are ASCII, so the cheapest decoding suffices. */
function textOf(text: string | Buffer): string {
  return typeof text === "string" ? text : text.toString("latin1");
}

/** The packages that code may import: the entries of the settings, and the entries that administrators have added. */
export class Permits {
  readonly #store: PermitStore;
  readonly #settings: PackagePolicy;
  readonly #nowMs: () => number;
  #policy: PackagePolicy;
  /** By the text, the oldest first. A warm run of the same text neither scans it nor compares ranges. */
  readonly #remembered = new Map<string, Remembered>();
  #rememberedBytes = 0;
  /** What permitted a set of a task when it was last asked for: to compare ranges takes longer than a warm run. */
  readonly #permitted = new WeakMap<object, { readonly policy: PackagePolicy; readonly claim: PackagesClaim }>();

  /** @param nowMs the clock, in Unix milliseconds */
  constructor(store: PermitStore, settings: PackagePolicy, nowMs: () => number) {
    this.#store = store;
    this.#settings = settings;
    this.#nowMs = nowMs;
    this.#policy = this.#readPolicy();
    store.onPermits(() => {
      this.#policy = this.#readPolicy();
      this.#remembered.clear();
      this.#rememberedBytes = 0;
    });
  }

  /** What is permitted now. */
  get policy(): PackagePolicy {
    return this.#policy;
  }

  /** What administrators have added to the list of the operator. */
  get added(): readonly AddedPermit[] {
    return this.#store.permits;
  }

  /** Adds an entry to the list of the operator. @returns false if it was there */
  async add(entry: string, by: string): Promise<boolean> {
    return await this.#store.addPermit({ entry, by, at: this.#nowMs() });
  }

  /** Removes an entry that `add` has added. @returns false if there is none */
  async remove(entry: string): Promise<boolean> {
    return await this.#store.removePermit(entry);
  }

  /** @throws {Problem} `packages_forbidden` */
  require(set: Pick<PackageSet, "ranges">, claim: PackagesClaim): void {
    const last = this.#permitted.get(set);
    if (last && last.policy === this.#policy && last.claim === claim) return;
    requirePermitted(set, this.#policy, claim);
    this.#permitted.set(set, { policy: this.#policy, claim });
  }

  /**
   * Returns the packages that code names, or null if it names none. All of them are permitted.
   *
   * @param texts the code and its modules
   * @param ranges the packages that the request names outside of the texts, or null
   * @throws {Problem} `packages_forbidden`, `packages_too_large`, `request_invalid`
   */
  named(texts: readonly (string | Buffer)[], ranges: Ranges | null, claim: PackagesClaim): PackageSet | null {
    if (ranges === null && !texts.some(mayName)) return null;
    const read = texts.map(textOf);
    const only = ranges === null && read.length === 1 && read[0]!.length <= MAX_REMEMBERED ? read[0]! : null;
    const known = only === null ? undefined : this.#remembered.get(only);
    if (known && known.claim === claim) return known.set;
    const set = packagesOf(read, ranges, (name) => defaultRange(name, this.#policy, claim));
    if (set) requirePermitted(set, this.#policy, claim);
    if (set && only !== null) this.#remember(only, { set, claim });
    return set;
  }

  /**
   * As `named`, and reads long texts in slices: a request that is refused for its packages counts against no limit.
   *
   * @param holder the `holder` argument of `nextTurn`
   */
  namedInTurns(
    texts: readonly (string | Buffer)[],
    ranges: Ranges | null,
    claim: PackagesClaim,
    holder: string,
  ): PackageSet | null | Promise<PackageSet | null> {
    const isLong = texts.reduce((sum, { length }) => sum + length, 0) > MAX_REMEMBERED;
    if (!isLong || (ranges === null && !texts.some(mayName))) return this.named(texts, ranges, claim);
    return this.#namedInSlices(texts, ranges, claim, new Slices(holder));
  }

  async #namedInSlices(
    texts: readonly (string | Buffer)[],
    ranges: Ranges | null,
    claim: PackagesClaim,
    slices: Slices,
  ): Promise<PackageSet | null> {
    const steps = packagesInSteps(texts.map(textOf), ranges, (name) => defaultRange(name, this.#policy, claim));
    for (;;) {
      if (slices.hasEnded) await slices.next();
      const { done, value: set } = steps.next();
      if (!done) continue;
      if (set) requirePermitted(set, this.#policy, claim);
      return set;
    }
  }

  #remember(text: string, remembered: Remembered): void {
    if (this.#remembered.delete(text)) this.#rememberedBytes -= 2 * text.length + ENTRY_BYTES;
    this.#remembered.set(text, remembered);
    this.#rememberedBytes += 2 * text.length + ENTRY_BYTES;
    for (const oldest of this.#remembered.keys()) {
      if (this.#rememberedBytes <= MEMORY_BYTES) return;
      this.#remembered.delete(oldest);
      this.#rememberedBytes -= 2 * oldest.length + ENTRY_BYTES;
    }
  }

  #readPolicy(): PackagePolicy {
    const { mode, allow } = this.#settings;
    return { mode, allow: [...new Set([...allow, ...this.#store.permits.map(({ entry }) => entry)])] };
  }
}
