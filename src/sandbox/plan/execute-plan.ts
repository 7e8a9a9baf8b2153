import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import path from "node:path";
import { buffer } from "node:stream/consumers";

import type { Architecture } from "../seccomp/system-calls.ts";
import { encodePlan, failedStep } from "./encode.ts";
import { landlockAbiStep } from "./landlock.ts";
import { type NotedCall, notedCalls } from "./notes.ts";
import { type Plan, stepsFor } from "./steps.ts";
import { PLAN_DESCRIPTOR } from "./stub.ts";

/** Where the notes go: the descriptor of a guest's frames. */
export const NOTES = 3;
/** A play takes a millisecond; one that hangs must not hold up a start. */
const PATIENCE_MS = 10_000;

/** Gives a stub that was just started what it waits for. */
export function sendPlan(socket: Socket, plan: Buffer): void {
  // A stub that is gone has said why by its end.
  socket.on("error", () => {}).end(plan);
}

/** What a play has come to. */
export interface PlanResult {
  /** In words, when a step failed that must not. */
  readonly fault: string | null;
  /** What the kernel answered to each call: below 0 the number of an error. Empty after a fault. */
  readonly results: readonly number[];
}

/**
 * Plays a plan and then calls that may fail, as this process's user and with nothing around it but the plan.
 *
 * @param stub the file of that program.
 * @throws {Error} when no process could be started.
 */
export async function executePlan(
  stub: string,
  architecture: Architecture,
  plan: Plan,
  calls: readonly NotedCall[],
): Promise<PlanResult> {
  const noted = notedCalls(architecture, calls, NOTES);
  const { said, fault } = await executeWhole(stub, { ...plan, steps: [...plan.steps, ...noted.steps] });
  const answers = noted.read(said);
  return answers ? { fault: null, results: answers } : { fault, results: [] };
}

/**
 * Plays a plan to its end.
 *
 * @returns what its steps have written to the descriptor `NOTES`, and which of them has failed, or how else it ended.
 * @throws {Error} when no process could be started.
 */
export async function executeWhole(stub: string, plan: Plan): Promise<{ said: Buffer; fault: string }> {
  const bytes = encodePlan(plan);
  const child = spawn(stub, [], {
    stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    cwd: "/",
    env: {},
    timeout: PATIENCE_MS,
    killSignal: "SIGKILL",
  });
  const exited = once(child, "exit");
  // Out of descriptors or processes, the child has nothing to be given a plan by.
  if (child.pid === undefined) await exited;
  sendPlan(child.stdio[PLAN_DESCRIPTOR] as Socket, bytes);
  const said = buffer(child.stdio[NOTES] as Socket);
  const [status, signal] = (await exited) as [number | null, string | null];
  const fault = failedStep(plan, status) ?? (signal ? `signal ${signal}` : `exit code ${status}`);
  return { said: await said, fault };
}

/**
 * The kernel's Landlock ABI, 0 where it has none or may not be used.
 *
 * @throws {Error} when the stub cannot be played at all: where its folder allows no execution, what helps.
 */
export async function landlockAbi(stub: string, architecture: Architecture): Promise<number> {
  const playing = executePlan(stub, architecture, { steps: [] }, [landlockAbiStep(stepsFor(architecture))]);
  const { fault, results: answers } = await playing.catch((error: unknown) => {
    // It has just been made there, by this user and for all: only the mount can be against it.
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    const folder = path.dirname(path.dirname(stub));
    const message = `${folder} allows no execution (mount option noexec); name another place by TMPDIR`;
    throw new Error(message, { cause: error });
  });
  if (fault !== null) throw new Error(`the stub cannot be played: ${fault}`);
  return Math.max(0, answers[0]!);
}
