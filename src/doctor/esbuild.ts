import { once } from "node:events";

import type { Finding } from "../finding.ts";
import { findEsbuild, INSTALL_ESBUILD } from "../sandbox/program/esbuild-program.ts";
import type { GuestProcess, Sandbox } from "../sandbox/sandbox.ts";

/** The maximum time of a start, which takes some 30 ms. */
const START_MS = 10_000;
const LAYER = "esbuild";
const WITHOUT = "without it the service starts, but builds no packages";

/** Starts esbuild as a guest, as each build of packages does. */
export async function examineEsbuild(sandbox: Sandbox): Promise<Finding> {
  const program = findEsbuild();
  if (!program) return { layer: LAYER, state: "weak", proof: `not installed; ${WITHOUT}`, remedy: INSTALL_ESBUILD };
  try {
    await startAndEnd(await sandbox.launch("esbuild"));
    return { layer: LAYER, state: "held", proof: `esbuild ${program.version} started as a guest` };
  } catch (error) {
    const proof = `esbuild ${program.version} does not start as a guest: ${(error as Error).message}; ${WITHOUT}`;
    return { layer: LAYER, state: "weak", proof, remedy: INSTALL_ESBUILD };
  }
}

/** @throws {Error} if the process sends nothing. */
async function startAndEnd(process: GuestProcess): Promise<void> {
  const ended = process.exited.then(({ how }) => {
    throw new Error(how);
  });
  try {
    await Promise.race([once(process.socket, "readable", { signal: AbortSignal.timeout(START_MS) }), ended]);
  } finally {
    process.kill();
    await ended.catch(() => {});
  }
}
