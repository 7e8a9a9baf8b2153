import type { Memory, Plan, Step, Arg } from "./steps.ts";

/** The address of the plan in the stub's memory. Both halves are values that no other address or number has. */
export const PLAN_ADDRESS = 0x2c_0001_0000n;
/** The size of every encoded plan, in bytes. */
export const PLAN_BYTES = 32_768;
/** The size of a step: its number, six arguments, and the address for its result. */
const STEP_BYTES = 64;
/** The size of a plan's header: the address of the first step, and the address at which the arguments are written. */
const HEADER_BYTES = 16;
/** The address of the program's path in every plan. */
export const PROGRAM_ADDRESS: bigint = PLAN_ADDRESS + BigInt(HEADER_BYTES);

/**
 * The stub's exit status if it received no plan. The next status means that the first step failed, and so on, up to 255.
 * Shells and bubblewrap report signals by lower statuses.
 */
const FIRST_STATUS = 192;
const MOST_STEPS = 255 - FIRST_STATUS;

/** @throws {TypeError} if the plan is too large, or has more steps than the exit status can name. */
export function encodePlan(plan: Plan): Buffer {
  return new Encoder().encode(plan);
}

/** Returns the name of the step that failed, for the log, or null if the exit status names no step. */
export function failedStep({ steps }: Plan, status: number | null): string | null {
  if (status === FIRST_STATUS) return "no plan came";
  return steps[(status ?? 0) - FIRST_STATUS - 1]?.name ?? null;
}

/** Returns the error message for an exit status of a guest, or null if the status names no step. */
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
    const lastRequired = steps.findLastIndex(({ mayFail }) => !mayFail);
    if (lastRequired >= MOST_STEPS)
      throw new TypeError(`a plan of ${lastRequired + 1} steps: no exit status names the last`);
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
    for (const [index, { name, number, args, result, mayFail = false }] of steps.entries()) {
      const at = start + index * STEP_BYTES;
      if (args.length > 6) throw new TypeError(`${name} has ${args.length} arguments`);
      this.#put(at, BigInt(number));
      for (const [argIndex, arg] of args.entries())
        this.#put(at + 8 + argIndex * 8, this.#resolve(arg, at + 8 + argIndex * 8));
      const stored = result ?? { memory: ignored, at: mayFail ? 1 : 0 };
      if (stored.at % 2 !== Number(mayFail))
        throw new TypeError(`the result of ${name} is at an offset of the wrong kind`);
      this.#put(at + STEP_BYTES - 8, this.#addressOf(stored.memory) + BigInt(stored.at));
    }
    return PLAN_ADDRESS + BigInt(start);
  }

  #resolve(arg: Arg, at: number): bigint {
    if (typeof arg === "number" || typeof arg === "bigint") return BigInt(arg);
    if (arg === "arguments") this.#arguments = PLAN_ADDRESS + BigInt(at);
    // The stub writes the addresses of its arguments and its environment here.
    if (typeof arg === "string") return 0n;
    if ("bytes" in arg) return this.#addressOf(arg);
    const known = this.#offsets.get(arg);
    return known === undefined ? this.#placeSteps(arg) : PLAN_ADDRESS + BigInt(known);
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
