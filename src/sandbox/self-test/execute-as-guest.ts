import type { StartedGuest } from "../local-sandbox.ts";
import type { PlanResult } from "../plan/execute-plan.ts";
import { type NotedCall, notedCalls } from "../plan/notes.ts";
import { type Memory, type Plan, stepsFor } from "../plan/steps.ts";
import type { Architecture } from "../seccomp/system-calls.ts";

const FRAMES = 3;
/** It takes some milliseconds; one that hangs must not hold up a start. */
const PATIENCE_MS = 10_000;

/**
 * Plays calls in the place of a guest, once it is sealed: under all that a guest has around it.
 *
 * @param start starts a guest that plays this.
 * @param plan of a guest, without its program.
 */
export async function playAsGuest(
  start: (plan: Plan) => StartedGuest,
  plan: Plan,
  calls: readonly NotedCall[],
): Promise<PlanResult> {
  const architecture = process.arch as Architecture;
  const noted = notedCalls(architecture, calls, FRAMES);
  const step = stepsFor(architecture);
  const word: Memory = { bytes: Buffer.from("!") };
  // As a guest says that it is ready, and is then given code.
  const handshake = [step("write", [FRAMES, word, 1]), step("read", [FRAMES, word, 1])];
  const guest = start({ steps: [...plan.steps, ...handshake, ...noted.steps] });
  const socket = guest.socket!;
  const said: Buffer[] = [];
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const first = new Promise((resolve) => {
    socket.on("data", (piece: Buffer) => {
      said.push(piece);
      resolve(piece);
    });
  });
  const late = setTimeout(() => guest.kill(), PATIENCE_MS);
  try {
    await Promise.race([first, closed]);
    if (said.length > 0) {
      await guest.seal();
      socket.write(word.bytes);
    }
    await closed;
  } finally {
    clearTimeout(late);
    guest.kill();
  }
  const { how } = await guest.exited;
  const answers = noted.read(Buffer.concat(said).subarray(word.bytes.length));
  return answers ? { fault: null, results: answers } : { fault: how, results: [] };
}
