import { isDeepStrictEqual } from "node:util";

import { z } from "zod";

import { descriptionMember, type Labels, labelsMember } from "../labels.ts";
import { limitsMember } from "../limits/limit-members.ts";
import type { Limits } from "../limits/windows.ts";
import { type ContainerPolicy, NO_POLICY, type Suspension } from "./store.ts";

/** Returns the JSON of a policy. Members that set nothing are left out, so that older versions can read the rest. */
export function storedPolicy({ limits, labels, description, suspended }: ContainerPolicy): Stored {
  return {
    limits,
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(description !== null && { description }),
    ...(suspended !== null && { suspended }),
  };
}

/**
 * Parses a stored policy as strictly as a request, because a member of a newer version may restrict the container.
 *
 * @throws {z.ZodError} if this version does not write the policy.
 */
export function policyOf(stored: unknown): ContainerPolicy {
  const { limits = {}, labels = {}, description = null, suspended = null } = schema.parse(stored);
  Object.freeze(limits);
  Object.freeze(labels);
  Object.freeze(suspended);
  return Object.freeze({ limits, labels, description, suspended });
}

/** Whether a policy sets nothing, so that it need not be stored. */
export function isEmpty(policy: ContainerPolicy): boolean {
  return isDeepStrictEqual(policy, NO_POLICY);
}

/** Whether two policies set the same. */
export function isSame(one: ContainerPolicy, other: ContainerPolicy): boolean {
  return one === other || isDeepStrictEqual(one, other);
}

interface Stored {
  readonly limits?: Limits;
  readonly labels?: Labels;
  readonly description?: string;
  readonly suspended?: Suspension;
}

const schema: z.ZodType<Stored> = z.strictObject({
  limits: z.exactOptional(limitsMember),
  labels: z.exactOptional(labelsMember),
  description: z.exactOptional(descriptionMember),
  suspended: z.exactOptional(z.strictObject({ at: z.int(), by: z.string(), endsRuns: z.boolean() })),
});
