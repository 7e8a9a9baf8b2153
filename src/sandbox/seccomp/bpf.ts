const SECCOMP_RET_ERRNO = 0x0005_0000;

/** Assembles classic BPF (linux/filter.h), as far as a system-call filter needs it: if a value matches, run a body that answers. */
export class Assembler {
  readonly #instructions: [code: number, jumpTrue: number, jumpFalse: number, operand: number][] = [];
  readonly #mark: number;

  /** @param mark a number that is added to each error. */
  constructor(mark: number = 0) {
    this.#mark = mark;
  }

  load(offset: number): void {
    this.#put(0x20, offset);
  }

  and(mask: number): void {
    this.#put(0x54, mask);
  }

  answer(action: number): void {
    this.#put(0x06, action);
  }

  /** Makes the call fail with a number of errno(3). */
  refuse(error: number): void {
    this.answer(SECCOMP_RET_ERRNO | (error + this.#mark));
  }

  when(value: number, body: () => void): void {
    this.#branch(0x15, value, body, false);
  }

  unless(value: number, body: () => void): void {
    this.#branch(0x15, value, body, true);
  }

  atLeast(value: number, body: () => void): void {
    this.#branch(0x35, value, body, false);
  }

  /** The offset of the next instruction's operand in the program, in bytes. */
  get nextOperand(): number {
    return this.#instructions.length * 8 + 4;
  }

  assemble(): Buffer {
    const program = Buffer.alloc(this.#instructions.length * 8);
    for (const [index, [code, jumpTrue, jumpFalse, operand]] of this.#instructions.entries()) {
      program.writeUInt16LE(code, index * 8);
      program[index * 8 + 2] = jumpTrue;
      program[index * 8 + 3] = jumpFalse;
      program.writeUInt32LE(operand >>> 0, index * 8 + 4);
    }
    return program;
  }

  #branch(code: number, operand: number, body: () => void, negated: boolean): void {
    const at = this.#instructions.length;
    this.#put(code, operand);
    body();
    const skipped = this.#instructions.length - at - 1;
    if (skipped > 255) throw new TypeError(`a jump over ${skipped} instructions does not fit`);
    this.#instructions[at]![negated ? 1 : 2] = skipped;
  }

  #put(code: number, operand: number): void {
    this.#instructions.push([code, 0, 0, operand]);
  }
}
