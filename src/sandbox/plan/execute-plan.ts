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

/** The descriptor to which a plan writes its notes. It is the descriptor of a guest's frames. */
export const NOTES = 3;
/** The maximum time of a plan. A plan takes a millisecond; a plan that hangs must not block a start of the service. */
const TIMEOUT_MS = 10_000;

/** Sends a started stub its plan. */
export function sendPlan(socket: Socket, plan: Buffer): void {
  // The exit status of a stub that has ended reports the cause.
  socket.on("error", () => {}).end(plan);
}

/** The outcome of a plan. */
export interface PlanResult {
  /** The name of the required step that failed, or how else the process ended. */
  readonly fault: string | null;
  /** The kernel's result of each call; a negative number is an error. Empty if there is a fault. */
  readonly results: readonly number[];
}

/**
 * Executes a plan, and then calls that may fail. Runs as this process's user, confined by nothing but the plan.
 *
 * @param stub the file of the stub.
 * @throws {Error} if no process can be started.
 */
export async function executePlan(
  stub: string,
  architecture: Architecture,
  plan: Plan,
  calls: readonly NotedCall[],
): Promise<PlanResult> {
  const noted = notedCalls(architecture, calls, NOTES);
  const { output, fault } = await executeWhole(stub, { ...plan, steps: [...plan.steps, ...noted.steps] });
  const results = noted.read(output);
  return results ? { fault: null, results } : { fault, results: [] };
}

/**
 * Executes a plan to its end.
 *
 * @returns the bytes that its steps wrote to the descriptor `NOTES`, and the name of the failed step or how else it ended.
 * @throws {Error} if no process can be started.
 */
export async function executeWhole(stub: string, plan: Plan): Promise<{ output: Buffer; fault: string }> {
  const bytes = encodePlan(plan);
  const child = spawn(stub, [], {
    stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    cwd: "/",
    env: {},
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  const exited = once(child, "exit");
  // If the system is out of descriptors or processes, the child has no socket for the plan. This throws its error.
  if (child.pid === undefined) await exited;
  sendPlan(child.stdio[PLAN_DESCRIPTOR] as Socket, bytes);
  const output = buffer(child.stdio[NOTES] as Socket);
  const [status, signal] = (await exited) as [number | null, string | null];
  const fault = failedStep(plan, status) ?? (signal ? `signal ${signal}` : `exit code ${status}`);
  return { output: await output, fault };
}

/**
 * Returns the kernel's Landlock ABI, or 0 if the kernel has no Landlock or this process may not use it.
 *
 * @throws {Error} if the stub cannot run. If its folder does not allow execution, the message names the remedy.
 */
export async function landlockAbi(stub: string, architecture: Architecture): Promise<number> {
  const execution = executePlan(stub, architecture, { steps: [] }, [landlockAbiStep(stepsFor(architecture))]);
  const { fault, results } = await execution.catch((error: unknown) => {
    // This process has just created the stub, executable by all users, so only a mount option can forbid the execution.
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    const folder = path.dirname(path.dirname(stub));
    const message = `${folder} allows no execution (mount option noexec); set TMPDIR to another folder`;
    throw new Error(message, { cause: error });
  });
  if (fault !== null) throw new Error(`the stub cannot run: ${fault}`);
  return Math.max(0, results[0]!);
}
