import type { Architecture } from "../seccomp/system-calls.ts";

/** The system calls that a process executes, in order, before it becomes a guest. Each must succeed. */
export interface Plan {
  readonly steps: readonly Step[];
  /** The path of the program that the last step executes. It is at a fixed address, which the filter compares. */
  readonly program?: Memory;
}

/** One system call. */
export interface Step {
  /** The name for the log if the step fails. */
  readonly name: string;
  readonly number: number;
  /** Up to six arguments; omitted arguments are 0. */
  readonly args: readonly Arg[];
  /** The place for the lower 32 bits of the result. The offset is odd if the step may fail, otherwise even. */
  readonly result?: MemoryOffset;
  /** Whether the plan continues if this step fails. */
  readonly mayFail?: boolean;
}

/**
 * An argument: a number, or the address of memory. A list of steps is the stack of a new thread or process, which executes
 * them. `arguments` and `environment` are the stub's own; a step must pass both, next to each other.
 */
export type Arg = number | bigint | Memory | readonly Step[] | "arguments" | "environment";

/** Bytes that the kernel reads or writes. */
export interface Memory {
  readonly bytes: Buffer;
  /** The offsets in the bytes at which the encoder writes the addresses of other memory. */
  readonly pointers?: readonly { readonly at: number; readonly to: Memory }[];
}

export interface MemoryOffset {
  readonly memory: Memory;
  /** In bytes. */
  readonly at: number;
}

/** The numbers of system calls on x64 and arm64 (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h of Linux). */
const NUMBERS = {
  read: [0, 63],
  write: [1, 64],
  close: [3, 57],
  mmap: [9, 222],
  getpid: [39, 172],
  execve: [59, 221],
  fcntl: [72, 25],
  chdir: [80, 49],
  setgroups: [116, 159],
  setresuid: [117, 147],
  setresgid: [119, 149],
  capset: [126, 91],
  setpriority: [141, 140],
  dup3: [292, 24],
  prctl: [157, 167],
  chroot: [161, 51],
  exit_group: [231, 94],
  openat: [257, 56],
  newfstatat: [262, 79],
  prlimit64: [302, 261],
  seccomp: [317, 277],
  close_range: [436, 436],
  landlock_create_ruleset: [444, 444],
  landlock_add_rule: [445, 445],
  landlock_restrict_self: [446, 446],
} as const;

export type CallName = keyof typeof NUMBERS;
/** @param name the name of the step, if the name of the call is not precise enough. */
export type MakeStep = (call: CallName, args: readonly Arg[], name?: string) => Step;

export function stepsFor(architecture: Architecture): MakeStep {
  const column = architecture === "x64" ? 0 : 1;
  return (call, args, name = call) => ({ name, number: NUMBERS[call][column], args });
}

/** Returns a C string. */
export function text(value: string): Memory {
  return { bytes: Buffer.from(`${value}\0`) };
}

/** Returns an array of 64-bit numbers. */
export function numbers(...values: readonly (number | bigint)[]): Memory {
  const bytes = Buffer.alloc(values.length * 8);
  for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), index * 8);
  return { bytes };
}
