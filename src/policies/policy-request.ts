import { z } from "zod";

import { settableLimitsMember, type SettableLimits } from "../limits/members.ts";
import { type Limits, WINDOW_NAMES } from "../limits/windows.ts";
import { membersProblem, schemaFaults } from "../members.ts";
import type { ContainerPolicy } from "./store.ts";

/**
 * Parses the body of `PUT /api/containers/{container}`. A member that is `null` or absent is not set.
 *
 * @throws {Problem} `request_invalid` with every fault at once.
 */
export function readPolicy(input: unknown): ContainerPolicy {
  const parsed = policyRequest.safeParse(input);
  if (!parsed.success) throw membersProblem("the policy of the container", schemaFaults(parsed.error));
  return Object.freeze({ limits: Object.freeze(setLimits(parsed.data.limits ?? {})) });
}

/** Whether a policy sets anything. */
export function isEmpty({ limits }: ContainerPolicy): boolean {
  return Object.keys(limits).length === 0;
}

interface Members {
  limits?: SettableLimits | null;
}

/** The body of `PUT /api/containers/{container}`. */
export const policyRequest: z.ZodType<Members> = z.strictObject(
  { limits: z.exactOptional(settableLimitsMember.nullable()) },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object" : undefined) },
);

/** Returns the limits in a fixed order of windows. */
function setLimits(requested: SettableLimits): Limits {
  const limits: { -readonly [Window in keyof Limits]: number } = {};
  for (const window of WINDOW_NAMES) {
    const limit = requested[window] ?? null;
    if (limit !== null) limits[window] = limit;
  }
  return limits;
}
