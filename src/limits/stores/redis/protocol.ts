import { type OpenUsage, untouched } from "../../decide.ts";
import type { Charge, KeyReading } from "../../store.ts";
import type { LimitVector } from "../../windows.ts";

/** How the script packs numbers: little-endian. */
const NUMBER_BYTES = 6;
const PLACE_BYTES = 2;
const LIMITS_BYTES = 6 * NUMBER_BYTES;
const CHARGE_BYTES = PLACE_BYTES + LIMITS_BYTES;

const FAILED = 2;

/** What decisions ask of the script: the logs, each once, and what each decision wants of which. */
export class LimitRequest {
  /** The keys of the logs, by their names, in the order of the script. */
  readonly logs: Map<string, number> = new Map();
  /** The decisions as the script takes them. */
  readonly words: Buffer;

  constructor(decisions: readonly (readonly Charge[])[]) {
    const charges = decisions.reduce((sum, { length }) => sum + length, 0);
    this.words = Buffer.allocUnsafe(decisions.length + charges * CHARGE_BYTES);
    let at = 0;
    for (const decision of decisions) {
      at = this.words.writeUInt8(decision.length, at);
      for (const { key, limits } of decision) {
        at = this.words.writeUInt16LE(this.#place(key), at);
        at += packed(limits).copy(this.words, at);
      }
    }
  }

  /** Of a log among the script's keys, where the clock and the names come first. */
  #place(key: string): number {
    const known = this.logs.get(key);
    if (known !== undefined) return known;
    const place = this.logs.size + FIRST_LOG;
    this.logs.set(key, place);
    return place;
  }
}

const FIRST_LOG = 3;

/** What is asked of a holder's runs is the same each time. */
function packed(limits: LimitVector): Buffer {
  let words = packedLimits.get(limits);
  if (!words) {
    words = Buffer.alloc(LIMITS_BYTES);
    for (const [window, limit] of limits.entries()) words.writeUIntLE(limit, window * NUMBER_BYTES, NUMBER_BYTES);
    packedLimits.set(limits, words);
  }
  return words;
}

const packedLimits = new WeakMap<LimitVector, Buffer>();

/** What the script says, in its order. */
export class LimitReply {
  readonly #words: Buffer;
  readonly #reasons: readonly Buffer[];
  #at = 0;
  #failed = 0;

  /** Whether it came in time; else nothing was done. */
  readonly inTime: boolean;
  /** The time of Redis, in Unix milliseconds. */
  readonly serverMs: number;

  constructor([words, ...reasons]: readonly Buffer[]) {
    this.#words = words!;
    this.#reasons = reasons;
    this.inTime = this.#byte() === 1;
    this.serverMs = this.#number();
  }

  /** What is left for each charge of the next decision before its run. @throws {Error} when it was not made. */
  usage(charges: readonly Charge[]): OpenUsage[] {
    this.#made();
    return charges.map((charge) => this.#usage(charge));
  }

  /** The next decision as a reading. @throws {Error} when it was not made. */
  reading(charge: Charge): KeyReading {
    this.#made();
    const used = charge.limits.map(() => this.#number());
    return { ...this.#usage(charge), used };
  }

  #made(): void {
    if (this.#byte() === FAILED) throw new Error(this.#reasons[this.#failed++]?.toString());
  }

  #usage(charge: Charge): OpenUsage {
    const usage = untouched(charge);
    for (let window = 0; window < charge.limits.length; window++) {
      if (charge.limits[window] === 0) continue;
      usage.remaining[window] = this.#number();
      usage.resetMs[window] = this.#number();
    }
    return usage;
  }

  #byte(): number {
    return this.#words.readUInt8(this.#at++);
  }

  #number(): number {
    return this.#words.readUIntLE((this.#at += NUMBER_BYTES) - NUMBER_BYTES, NUMBER_BYTES);
  }
}
