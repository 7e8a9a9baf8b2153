import type { Architecture } from "../system-calls.ts";
import { type Memory, type Step, stepsFor } from "./steps.ts";

/** The answer of a call that never came back: it went on as another program. */
const NEVER = 0x7fff_ffff;
const ANSWER_BYTES = 4;

export interface NotedCalls {
  readonly steps: readonly Step[];
  /** @returns the answers in the order of the calls, or null when this is not what was written. */
  read(notes: Buffer): number[] | null;
}

/**
 * Steps that make each call whatever became of the one before, then write to a descriptor what the kernel answered, and
 * end the process.
 */
export function notedCalls(architecture: Architecture, calls: readonly Step[], descriptor: number): NotedCalls {
  const step = stepsFor(architecture);
  const notes: Memory = { bytes: Buffer.alloc(1 + calls.length * ANSWER_BYTES) };
  for (const index of calls.keys()) notes.bytes.writeInt32LE(NEVER, 1 + index * ANSWER_BYTES);
  return {
    steps: [
      ...calls.map((call, index) => {
        // Odd: it may fail.
        return { ...call, mayFail: true, result: { memory: notes, at: 1 + index * ANSWER_BYTES } };
      }),
      step("write", [descriptor, notes, notes.bytes.length]),
      step("exit_group", [0]),
    ],
    read: (written) => {
      if (written.length !== notes.bytes.length) return null;
      return Array.from(calls, (_, index) => written.readInt32LE(1 + index * ANSWER_BYTES));
    },
  };
}
