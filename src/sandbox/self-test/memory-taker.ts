import type { GuestResources } from "../local-sandbox.ts";
import { type Memory, type Plan, type Step, stepsFor } from "../plan/steps.ts";
import type { GuestProcess } from "../sandbox.ts";
import type { Architecture } from "../seccomp/system-calls.ts";

/** The memory that the process takes for each byte that it receives. */
export const PIECE_BYTES: number = 32 * 2 ** 20;
/**
 * The largest memory limit that a start fills. A larger fill would slow down other users of the machine; the limit that the
 * kernel reports must suffice.
 */
export const MOST_FILLED_BYTES: number = 2 ** 30;
/** A margin larger than what a guest may map beyond the memory limit if no control group limits memory. */
const MARGIN_BYTES = 2 ** 30;
const FRAMES = 3;
/** The offset of the result in an answer. It is odd, because the call may fail. */
const RESULT_AT = 1;
const ANSWER_BYTES = RESULT_AT + 4;
const PROT_READ_WRITE = 3;
const MAP_PRIVATE_ANONYMOUS = 0x22;
/** Makes the kernel use the pages immediately. A process that touches each page takes ten times the processor time. */
const MAP_POPULATE = 0x8000;
const NO_FILE = -1;
const F_SETFL = 4;
/** The maximum time. The calls take a moment; calls that hang must not block a start of the service. */
const TIMEOUT_MS = 30_000;

/**
 * Returns the plan of a guest that takes memory and has no program. It writes a byte when it is ready, and waits until it is sealed.
 * For each byte that it receives it takes a piece, and writes the kernel's result. Without a control group only mapped memory is
 * limited, so it maps one piece that is larger than the limit, and uses none of it.
 *
 * @param plan the plan of a task's guest, without its program.
 * @param isHeld whether a control group limits memory.
 */
export function memoryTakerPlan(plan: Plan, { memoryBytes }: GuestResources, isHeld: boolean): Plan {
  const step = stepsFor(process.arch as Architecture);
  const signal: Memory = { bytes: Buffer.from("!") };
  const answer: Memory = { bytes: Buffer.alloc(ANSWER_BYTES) };
  const bytes = isHeld ? PIECE_BYTES : memoryBytes + MARGIN_BYTES;
  const flags = isHeld ? MAP_PRIVATE_ANONYMOUS | MAP_POPULATE : MAP_PRIVATE_ANONYMOUS;
  const receive = step("read", [FRAMES, signal, 1]);
  const take: Step[] = [
    {
      ...step("mmap", [0, bytes, PROT_READ_WRITE, flags, NO_FILE, 0]),
      mayFail: true,
      result: { memory: answer, at: RESULT_AT },
    },
    { ...step("write", [FRAMES, answer, ANSWER_BYTES]), mayFail: true },
  ];
  const pieces = isHeld ? Math.ceil(MOST_FILLED_BYTES / PIECE_BYTES) + 1 : 1;
  return {
    steps: [
      ...plan.steps,
      // A launcher passes a connection that does not block, and the process must wait until it is sealed.
      step("fcntl", [FRAMES, F_SETFL, 0], "blocking frames"),
      step("write", [FRAMES, signal, 1]),
      receive,
      ...Array.from({ length: pieces - 1 }, () => [...take, { ...receive, mayFail: true }]).flat(),
      ...take,
      { ...step("exit_group", [0]), mayFail: true },
    ],
  };
}

/** A sealed guest that takes memory. */
export interface MemoryTaker {
  readonly process: GuestProcess;
  /** Takes a piece. @returns the kernel's result, where a negative number is an error, or null if the guest ended instead. */
  take(): Promise<number | null>;
  end(): void;
}

/** Starts and seals a guest that takes memory. @throws {Error} if it cannot be started. */
export async function startMemoryTaker(launch: () => Promise<GuestProcess>): Promise<MemoryTaker> {
  const guest = await launch();
  const timeout = setTimeout(() => guest.kill(), TIMEOUT_MS);
  const end = (): void => {
    clearTimeout(timeout);
    guest.kill();
  };
  const receive = receiverOf(guest);
  try {
    if ((await receive(1)) === null) throw new Error((await guest.exited).how);
    await guest.seal();
  } catch (error) {
    end();
    throw error;
  }
  const take = async (): Promise<number | null> => {
    guest.socket.write("!");
    return (await receive(ANSWER_BYTES))?.readInt32LE(RESULT_AT) ?? null;
  };
  return { process: guest, take, end };
}

/** Returns a function that receives a number of bytes, or null if the guest ends before. */
function receiverOf({ socket }: GuestProcess): (count: number) => Promise<Buffer | null> {
  const chunks = socket.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>;
  let received = Buffer.alloc(0);
  return async (count) => {
    while (received.length < count) {
      // The end of the process may reset the connection.
      const { value } = await chunks.next().catch(() => ({ value: undefined }));
      if (value === undefined) return null;
      received = Buffer.concat([received, value]);
    }
    const taken = received.subarray(0, count);
    received = received.subarray(count);
    return taken;
  };
}
