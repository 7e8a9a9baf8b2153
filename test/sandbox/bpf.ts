/** Runs a filter as the kernel does (linux/filter.h). Supports only the instructions that the filters use. */
export function judge(
  program: Buffer,
  call: { arch: number; number: number; args?: readonly (number | bigint)[] },
): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number >>> 0, 0);
  data.writeUInt32LE(call.arch, 4);
  for (const [index, value] of (call.args ?? []).entries()) {
    data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index);
  }
  let accumulator = 0;
  for (let at = 0; at * 8 < program.length; at++) {
    const [code, whenTrue, whenFalse] = [program.readUInt16LE(at * 8), program[at * 8 + 2]!, program[at * 8 + 3]!];
    const operand = program.readUInt32LE(at * 8 + 4);
    if (code === 0x20) accumulator = data.readUInt32LE(operand);
    else if (code === 0x54) accumulator = (accumulator & operand) >>> 0;
    else if (code === 0x15) at += accumulator === operand ? whenTrue : whenFalse;
    else if (code === 0x35) at += accumulator >= operand ? whenTrue : whenFalse;
    else if (code === 0x06) return actionOf(operand);
    else throw new TypeError(`unknown instruction ${code}`);
  }
  throw new TypeError("the program ended without an answer");
}

function actionOf(value: number): string {
  if (value === 0x7fff0000) return "allow";
  if (value === 0x80000000) return "kill";
  if (value >>> 16 === 5)
    return { 1: "EPERM", 22: "EINVAL", 38: "ENOSYS" }[value & 0xffff] ?? `errno ${value & 0xffff}`;
  return `action ${value}`;
}
