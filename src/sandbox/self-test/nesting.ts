import { constants } from "node:os";
import { getSystemErrorName } from "node:util";

import type { PlanResult } from "../plan/execute-plan.ts";
import type { NotedCall } from "../plan/notes.ts";
import type { Step } from "../plan/steps.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import type { Check } from "./check.ts";

/** The number of `unshare`. With CLONE_NEWUSER it needs no privilege. */
const UNSHARE = { x64: 272, arm64: 97 };
const CLONE_NEWUSER = 0x1000_0000;

/**
 * Proves that a guest cannot create a user namespace below its own, in which it would have every capability. Tests the limit
 * that bubblewrap sets (`--disable-userns`) without the filter, which also forbids the call.
 *
 * @param executeUnfiltered executes calls under all restrictions of a guest except the filter.
 */
export async function testNesting(
  architecture: Architecture,
  executeUnfiltered: (calls: readonly NotedCall[]) => Promise<PlanResult>,
): Promise<Check> {
  const check = { layer: "user namespace", tried: "create another below it, without the filter" } as const;
  const call: Step = { name: "unshare", number: UNSHARE[architecture], args: [CLONE_NEWUSER] };
  const { fault, results } = await executeUnfiltered([call]);
  if (fault !== null) return { ...check, outcome: "open", found: `it could not be tried: ${fault}` };
  const [result] = results as [number];
  const isRefused = [constants.errno.ENOSPC, constants.errno.EPERM].includes(-result);
  return {
    ...check,
    outcome: isRefused ? "held" : "open",
    found: result < 0 ? getSystemErrorName(result) : "got through",
  };
}
