import type { Architecture } from "../seccomp/system-calls.ts";

/** What a process does before it becomes a guest: system calls in their order, each of which has to succeed. */
export interface Plan {
  readonly steps: readonly Step[];
  /** The path that the last step executes. It lies at a fixed address, by which the filter knows it. */
  readonly program?: Memory;
}

/** One system call. */
export interface Step {
  /** For the log: what could not be done when this fails. */
  readonly name: string;
  readonly number: number;
  /** Up to six; what is left out is 0. */
  readonly args: readonly Arg[];
  /** Where the lower 32 bits of the result go: at an odd offset when it may fail, else at an even one. */
  readonly result?: MemoryOffset;
  /** Whether the next step follows whatever the kernel says. */
  readonly mayFail?: boolean;
}

/**
 * An argument: a number, or the address of something. Further steps are what a new thread or process goes on with, as its
 * stack. `arguments` and `environment` are those that the stub was started with, and stand side by side.
 */
export type Arg = number | bigint | Memory | readonly Step[] | "arguments" | "environment";

/** Bytes that the kernel reads or writes, and where in them addresses of others belong. */
export interface Memory {
  readonly bytes: Buffer;
  readonly pointers?: readonly { readonly at: number; readonly to: Memory }[];
}

export interface MemoryOffset {
  readonly memory: Memory;
  /** In bytes. */
  readonly at: number;
}

/** By number on x64 and arm64 (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h of Linux). */
const NUMBERS = {
  read: [0, 63],
  write: [1, 64],
  close: [3, 57],
  getpid: [39, 172],
  execve: [59, 221],
  chdir: [80, 49],
  setgroups: [116, 159],
  setresuid: [117, 147],
  setresgid: [119, 149],
  capset: [126, 91],
  setpriority: [141, 140],
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
/** @param name of the step, where the call's own does not say enough. */
export type MakeStep = (call: CallName, words: readonly Arg[], name?: string) => Step;

export function stepsFor(architecture: Architecture): MakeStep {
  const column = architecture === "x64" ? 0 : 1;
  return (call, words, name = call) => ({ name, number: NUMBERS[call][column], args: words });
}

/** A C string. */
export function text(value: string): Memory {
  return { bytes: Buffer.from(`${value}\0`) };
}

/** An array of 64-bit numbers. */
export function numbers(...values: readonly (number | bigint)[]): Memory {
  const bytes = Buffer.alloc(values.length * 8);
  for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), index * 8);
  return { bytes };
}
