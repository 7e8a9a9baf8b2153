import type { Architecture } from "../seccomp/system-calls.ts";
import { type Memory, type Step, stepsFor } from "./steps.ts";

/** The answer of a call that never came back: its process went on as another program. */
const NEVER = 0x7fff_ffff;
const ANSWER_BYTES = 4;
/** The kernel's MAX_ERRNO. */
const LAST_ERROR = -4_095;

/** What is noted, and by which step it comes to be made, where that is not itself: by a new process. */
export type NotedCall = Step | { readonly call: Step; readonly madeBy: (call: Step) => Step };

export interface NotedCalls {
  readonly steps: readonly Step[];
  /** @returns the answers in the order of the calls, or null when this is not what was written. */
  read(notes: Buffer): number[] | null;
}

/**
 * Steps that make each call whatever became of the one before, then write to a descriptor what the kernel answered, and
 * end the process.
 */
export function notedCalls(architecture: Architecture, calls: readonly NotedCall[], descriptor: number): NotedCalls {
  const step = stepsFor(architecture);
  const notes: Memory = { bytes: Buffer.alloc(1 + calls.length * ANSWER_BYTES) };
  for (const index of calls.keys()) notes.bytes.writeInt32LE(NEVER, 1 + index * ANSWER_BYTES);
  return {
    steps: [
      ...calls.map((call, index) => {
        // Odd: it may fail.
        const noted = { mayFail: true, result: { memory: notes, at: 1 + index * ANSWER_BYTES } };
        if (!("madeBy" in call)) return { ...call, ...noted };
        return { ...call.madeBy({ ...call.call, ...noted }), mayFail: true };
      }),
      // Whether they can be made shows by what is read; there may be more before than an exit status can count.
      { ...step("write", [descriptor, notes, notes.bytes.length]), mayFail: true },
      { ...step("exit_group", [0]), mayFail: true },
    ],
    read: (written) => {
      if (written.length !== notes.bytes.length) return null;
      return Array.from(calls, (_, index) => {
        const answer = written.readInt32LE(1 + index * ANSWER_BYTES);
        // The lower half of an address.
        return answer < LAST_ERROR ? answer >>> 0 : answer;
      });
    },
  };
}
