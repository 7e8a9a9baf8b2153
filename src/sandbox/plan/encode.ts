import type { Memory, Plan, Step, Arg } from "./steps.ts";

/** Where the stub has its plan in memory. Both halves of an address there are numbers that nothing else has. */
export const PLAN_ADDRESS = 0x2c_0001_0000n;
/** Of a plan as it is sent, whatever is in it. */
export const PLAN_BYTES = 32_768;
/** Number, six arguments, where the result goes. */
const STEP_BYTES = 64;
/** The addresses of the first step, and of where the arguments of the program belong. */
const HEADER_BYTES = 16;
/** The path of the program, in every plan. */
export const PROGRAM_ADDRESS: bigint = PLAN_ADDRESS + BigInt(HEADER_BYTES);

/**
 * The stub's exit status, of 8 bits: this when it got no plan, one more when the first step failed, and so on. Below are
 * those by which shells and bubblewrap tell of signals.
 */
const FIRST_STATUS = 192;
const MOST_STEPS = 255 - FIRST_STATUS;

/** @throws {TypeError} when it does not fit, or a step could not be told from others by the exit status. */
export function encodePlan(plan: Plan): Buffer {
  return new Encoder().encode(plan);
}

/** Which step the stub could not make, for the log, or null when its exit status says no such thing. */
export function failedStep({ steps }: Plan, status: number | null): string | null {
  if (status === FIRST_STATUS) return "no plan came";
  return steps[(status ?? 0) - FIRST_STATUS - 1]?.name ?? null;
}

/** The same in words, or null. */
export function confinementFault(plan: Plan, status: number): string | null {
  const step = failedStep(plan, status);
  return step && `the guest could not be confined: ${step}`;
}

class Encoder {
  readonly #plan: Buffer = Buffer.alloc(PLAN_BYTES);
  readonly #offsets: Map<object, number> = new Map();
  #used = HEADER_BYTES;
  #arguments: bigint | null = null;

  encode({ steps, program }: Plan): Buffer {
    const firm = steps.findLastIndex(({ mayFail }) => !mayFail);
    if (firm >= MOST_STEPS) throw new TypeError(`a plan of ${firm + 1} steps: no exit status names the last`);
    if (program && this.#addressOf(program) !== PROGRAM_ADDRESS) throw new TypeError("the program is not the first");
    const first = this.#placeSteps(steps);
    const unused = this.#arguments ?? this.#addressOf({ bytes: Buffer.alloc(16) });
    this.#plan.writeBigUInt64LE(first, 0);
    this.#plan.writeBigUInt64LE(unused, 8);
    return this.#plan;
  }

  #placeSteps(steps: readonly Step[]): bigint {
    const ignored: Memory = { bytes: Buffer.alloc(8) };
    const start = this.#reserve(steps, steps.length * STEP_BYTES, STEP_BYTES);
    for (const [index, { name, number, args: words, result, mayFail = false }] of steps.entries()) {
      const at = start + index * STEP_BYTES;
      if (words.length > 6) throw new TypeError(`${name} has ${words.length} arguments`);
      this.#put(at, BigInt(number));
      for (const [place, word] of words.entries())
        this.#put(at + 8 + place * 8, this.#resolve(word, at + 8 + place * 8));
      const stored = result ?? { memory: ignored, at: mayFail ? 1 : 0 };
      if (stored.at % 2 !== Number(mayFail))
        throw new TypeError(`the result of ${name} is at an offset of the wrong kind`);
      this.#put(at + STEP_BYTES - 8, this.#addressOf(stored.memory) + BigInt(stored.at));
    }
    return PLAN_ADDRESS + BigInt(start);
  }

  #resolve(word: Arg, at: number): bigint {
    if (typeof word === "number" || typeof word === "bigint") return BigInt(word);
    if (word === "arguments") this.#arguments = PLAN_ADDRESS + BigInt(at);
    // The stub writes them.
    if (typeof word === "string") return 0n;
    if ("bytes" in word) return this.#addressOf(word);
    const known = this.#offsets.get(word);
    return known === undefined ? this.#placeSteps(word) : PLAN_ADDRESS + BigInt(known);
  }

  #addressOf(memory: Memory): bigint {
    const { bytes, pointers = [] } = memory;
    const known = this.#offsets.get(memory);
    if (known !== undefined) return PLAN_ADDRESS + BigInt(known);
    const at = this.#reserve(memory, bytes.length, 8);
    bytes.copy(this.#plan, at);
    for (const pointer of pointers) this.#put(at + pointer.at, this.#addressOf(pointer.to));
    return PLAN_ADDRESS + BigInt(at);
  }

  #reserve(owner: object, size: number, alignment: number): number {
    const at = Math.ceil(this.#used / alignment) * alignment;
    this.#used = at + size;
    if (this.#used > PLAN_BYTES) throw new TypeError(`a plan of more than ${PLAN_BYTES} bytes`);
    this.#offsets.set(owner, at);
    return at;
  }

  #put(at: number, value: bigint): void {
    this.#plan.writeBigUInt64LE(BigInt.asUintN(64, value), at);
  }
}
