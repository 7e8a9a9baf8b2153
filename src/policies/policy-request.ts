import { z } from "zod";

import { settableLimitsMember, type SettableLimits } from "../limits/members.ts";
import { type Limits, WINDOW_NAMES } from "../limits/windows.ts";
import { membersProblem, schemaFaults } from "../members.ts";
import type { ContainerPolicy } from "./store.ts";

/**
 * Reads the body of `PUT /api/containers/{container}`. What is `null` or left out is not set.
 *
 * @throws {Problem} `request_invalid` with every fault at once.
 */
export function readPolicy(input: unknown): ContainerPolicy {
  const parsed = schema.safeParse(input);
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

const schema: z.ZodType<Members> = z.strictObject(
  { limits: z.exactOptional(settableLimitsMember.nullable()) },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object" : undefined) },
);

/** In one order, whatever the order was in which they came. */
function setLimits(given: SettableLimits): Limits {
  const limits: { -readonly [Window in keyof Limits]: number } = {};
  for (const window of WINDOW_NAMES) {
    const limit = given[window] ?? null;
    if (limit !== null) limits[window] = limit;
  }
  return limits;
}
