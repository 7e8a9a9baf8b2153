import type { StartedGuest } from "../local-sandbox.ts";
import type { PlanResult } from "../plan/execute-plan.ts";
import { type NotedCall, notedCalls } from "../plan/notes.ts";
import { type Memory, type Plan, stepsFor } from "../plan/steps.ts";
import type { Architecture } from "../seccomp/system-calls.ts";

const FRAMES = 3;
/** The maximum time. The calls take some milliseconds; calls that hang must not block a start of the service. */
const TIMEOUT_MS = 10_000;

/**
 * Executes calls in a sealed guest process instead of Node, under all restrictions of a guest.
 *
 * @param start starts a guest that executes a plan.
 * @param plan the plan of a guest, without its program.
 */
export async function executeAsGuest(
  start: (plan: Plan) => StartedGuest,
  plan: Plan,
  calls: readonly NotedCall[],
): Promise<PlanResult> {
  const architecture = process.arch as Architecture;
  const noted = notedCalls(architecture, calls, FRAMES);
  const step = stepsFor(architecture);
  const signal: Memory = { bytes: Buffer.from("!") };
  // The process writes a byte when it is ready, and waits for a byte when it is sealed. A guest's frames do the same.
  const handshake = [step("write", [FRAMES, signal, 1]), step("read", [FRAMES, signal, 1])];
  const guest = start({ steps: [...plan.steps, ...handshake, ...noted.steps] });
  const socket = guest.socket!;
  const chunks: Buffer[] = [];
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const first = new Promise((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      resolve(chunk);
    });
  });
  const timeout = setTimeout(() => guest.kill(), TIMEOUT_MS);
  try {
    await Promise.race([first, closed]);
    if (chunks.length > 0) {
      await guest.seal();
      socket.write(signal.bytes);
    }
    await closed;
  } finally {
    clearTimeout(timeout);
    guest.kill();
  }
  const { how } = await guest.exited;
  const results = noted.read(Buffer.concat(chunks).subarray(signal.bytes.length));
  return results ? { fault: null, results } : { fault: how, results: [] };
}
