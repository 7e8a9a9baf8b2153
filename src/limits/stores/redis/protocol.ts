import { emptyUsage, type MutableUsage } from "../../decide.ts";
import type { Charge, KeyReading } from "../../store.ts";
import type { LimitVector } from "../../windows.ts";

/** The length of a number in bytes. The script packs numbers in little-endian order. */
const NUMBER_BYTES = 6;
const INDEX_BYTES = 2;
const LIMITS_BYTES = 6 * NUMBER_BYTES;
const CHARGE_BYTES = INDEX_BYTES + LIMITS_BYTES;

const FAILED = 2;

/** A request to the script: the logs, each once, and the decisions with the logs and limits of each. */
export class LimitRequest {
  /** The index of each log among the script's keys, by the name of the log. */
  readonly logs: Map<string, number> = new Map();
  /** The decisions, packed for the script. */
  readonly packed: Buffer;

  constructor(decisions: readonly (readonly Charge[])[]) {
    const charges = decisions.reduce((sum, { length }) => sum + length, 0);
    this.packed = Buffer.allocUnsafe(decisions.length + charges * CHARGE_BYTES);
    let at = 0;
    for (const decision of decisions) {
      at = this.packed.writeUInt8(decision.length, at);
      for (const { key, limits } of decision) {
        at = this.packed.writeUInt16LE(this.#indexOf(key), at);
        at += packLimits(limits).copy(this.packed, at);
      }
    }
  }

  /** Returns the index of a log among the script's keys, whose first two are the clock and the names. */
  #indexOf(key: string): number {
    const known = this.logs.get(key);
    if (known !== undefined) return known;
    const index = this.logs.size + FIRST_LOG;
    this.logs.set(key, index);
    return index;
  }
}

const FIRST_LOG = 3;

/** Packs limits, and caches the result: every run of a token has the same limits. */
function packLimits(limits: LimitVector): Buffer {
  let packed = packedLimits.get(limits);
  if (!packed) {
    packed = Buffer.alloc(LIMITS_BYTES);
    for (const [window, limit] of limits.entries()) packed.writeUIntLE(limit, window * NUMBER_BYTES, NUMBER_BYTES);
    packedLimits.set(limits, packed);
  }
  return packed;
}

const packedLimits = new WeakMap<LimitVector, Buffer>();

/** The reply of the script, read in its order. */
export class LimitReply {
  readonly #packed: Buffer;
  readonly #reasons: readonly Buffer[];
  #at = 0;
  #failed = 0;

  /** Whether the request reached Redis in time. If not, the script changed nothing. */
  readonly inTime: boolean;
  /** The time of Redis, in Unix milliseconds. */
  readonly serverMs: number;

  constructor([packed, ...reasons]: readonly Buffer[]) {
    this.#packed = packed!;
    this.#reasons = reasons;
    this.inTime = this.#byte() === 1;
    this.serverMs = this.#number();
  }

  /** Reads the next decision: what is left for each charge before the run. @throws {Error} when the decision failed. */
  usage(charges: readonly Charge[]): MutableUsage[] {
    this.#throwIfFailed();
    return charges.map((charge) => this.#usage(charge));
  }

  /** Reads the next decision as a reading. @throws {Error} when the decision failed. */
  reading(charge: Charge): KeyReading {
    this.#throwIfFailed();
    const used = charge.limits.map(() => this.#number());
    return { ...this.#usage(charge), used };
  }

  #throwIfFailed(): void {
    if (this.#byte() === FAILED) throw new Error(this.#reasons[this.#failed++]?.toString());
  }

  #usage(charge: Charge): MutableUsage {
    const usage = emptyUsage(charge);
    for (let window = 0; window < charge.limits.length; window++) {
      if (charge.limits[window] === 0) continue;
      usage.remaining[window] = this.#number();
      usage.resetMs[window] = this.#number();
    }
    return usage;
  }

  #byte(): number {
    return this.#packed.readUInt8(this.#at++);
  }

  #number(): number {
    return this.#packed.readUIntLE((this.#at += NUMBER_BYTES) - NUMBER_BYTES, NUMBER_BYTES);
  }
}
