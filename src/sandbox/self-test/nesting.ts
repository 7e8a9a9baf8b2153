import { constants } from "node:os";
import { getSystemErrorName } from "node:util";

import type { PlanResult } from "../plan/execute-plan.ts";
import type { NotedCall } from "../plan/notes.ts";
import type { Step } from "../plan/steps.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import type { Check } from "./check.ts";

/** `unshare` for CLONE_NEWUSER, which takes no privilege. */
const UNSHARE = { x64: 272, arm64: 97 };
const CLONE_NEWUSER = 0x1000_0000;

/**
 * Proves that a guest can make no user namespace below its own, in which it would have every capability: by the limit that
 * bubblewrap sets (`--disable-userns`), not by the filter, which forbids the call as well.
 *
 * @param playUnfiltered plays calls under all that a guest has around it but the filter.
 */
export async function testNesting(
  architecture: Architecture,
  playUnfiltered: (calls: readonly NotedCall[]) => Promise<PlanResult>,
): Promise<Check> {
  const check = { layer: "user namespace", tried: "another below it, without the filter" } as const;
  const call: Step = { name: "unshare", number: UNSHARE[architecture], args: [CLONE_NEWUSER] };
  const { fault, results: answers } = await playUnfiltered([call]);
  if (fault !== null) return { ...check, outcome: "open", found: `it could not be tried: ${fault}` };
  const [answer] = answers as [number];
  const isRefused = [constants.errno.ENOSPC, constants.errno.EPERM].includes(-answer);
  return {
    ...check,
    outcome: isRefused ? "held" : "open",
    found: answer < 0 ? getSystemErrorName(answer) : "got through",
  };
}
