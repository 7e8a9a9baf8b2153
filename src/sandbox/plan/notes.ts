import type { Architecture } from "../seccomp/system-calls.ts";
import { type Memory, type Step, stepsFor } from "./steps.ts";

/** The result of a call that did not return, because its process now executes another program. */
const NEVER = 0x7fff_ffff;
const ANSWER_BYTES = 4;
/** The lowest error number: the kernel's MAX_ERRNO, negated. */
const LAST_ERROR = -4_095;

/** A call whose result is recorded. `madeBy` returns the step that makes the call in a new process. */
export type NotedCall = Step | { readonly call: Step; readonly madeBy: (call: Step) => Step };

export interface NotedCalls {
  readonly steps: readonly Step[];
  /** @returns the results in the order of the calls, or null if the steps did not write these bytes. */
  read(notes: Buffer): number[] | null;
}

/**
 * Returns steps that make each call even if another call failed, then write the kernel's results to a descriptor, and then
 * end the process.
 */
export function notedCalls(architecture: Architecture, calls: readonly NotedCall[], descriptor: number): NotedCalls {
  const step = stepsFor(architecture);
  const notes: Memory = { bytes: Buffer.alloc(1 + calls.length * ANSWER_BYTES) };
  for (const index of calls.keys()) notes.bytes.writeInt32LE(NEVER, 1 + index * ANSWER_BYTES);
  return {
    steps: [
      ...calls.map((call, index) => {
        // The offset is odd, because the call may fail.
        const noted = { mayFail: true, result: { memory: notes, at: 1 + index * ANSWER_BYTES } };
        if (!("madeBy" in call)) return { ...call, ...noted };
        return { ...call.madeBy({ ...call.call, ...noted }), mayFail: true };
      }),
      // The reader detects a failure of these two steps by the missing notes. An exit status cannot report it, because there
      // may be more steps before than an exit status can count.
      { ...step("write", [descriptor, notes, notes.bytes.length]), mayFail: true },
      { ...step("exit_group", [0]), mayFail: true },
    ],
    read: (written) => {
      if (written.length !== notes.bytes.length) return null;
      return Array.from(calls, (_, index) => {
        const answer = written.readInt32LE(1 + index * ANSWER_BYTES);
        // Not an error, but the lower half of an address.
        return answer < LAST_ERROR ? answer >>> 0 : answer;
      });
    },
  };
}
