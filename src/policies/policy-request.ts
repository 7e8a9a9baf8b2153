import { z } from "zod";

import { descriptionMember, LABELS_FORM, type Labels, labelsPatchMember, MAX_LABELS } from "../labels.ts";
import { settableLimitsMember, type SettableLimits } from "../limits/limit-members.ts";
import { type Limits, WINDOW_NAMES } from "../limits/windows.ts";
import { membersProblem, schemaFaults } from "../members.ts";
import type { PolicyChange } from "./store.ts";

/**
 * Parses the body of `PUT /api/containers/{container}`. A member that is `null` or absent is not set.
 *
 * @throws {Problem} `request_invalid` with every fault at once.
 */
export function readLimits(input: unknown): Limits {
  const parsed = policyRequest.safeParse(input);
  if (!parsed.success) throw membersProblem(SUBJECT, schemaFaults(policyRequest, parsed.error, whyNotInPut));
  return setLimits(parsed.data.limits ?? {});
}

/**
 * Parses the body of `PATCH /api/containers/{container}`, a merge patch (RFC 7396): a member that is absent stays, and
 * `null` removes.
 *
 * @returns the change that it makes. The change throws {Problem} `request_invalid` if it adds too many labels.
 * @throws {Problem} `request_invalid` with every fault at once.
 */
export function readPatch(input: unknown): PolicyChange {
  const parsed = policyPatch.safeParse(input);
  if (!parsed.success) throw membersProblem(SUBJECT, schemaFaults(policyPatch, parsed.error, whyNotInPatch));
  const { limits, labels, description } = parsed.data;
  return (before) =>
    Object.freeze({
      ...before,
      limits: limits === undefined ? before.limits : setLimits({ ...(limits && before.limits), ...limits }),
      labels: labels === undefined ? before.labels : setLabels({ ...(labels && before.labels), ...labels }),
      description: description === undefined ? before.description : description,
    });
}

const SUBJECT = "the policy of the container";

/** The members of `PUT`. */
export interface PolicyMembers {
  readonly limits?: SettableLimits | null;
}

/** The members of `PATCH`. */
export interface PolicyPatch extends PolicyMembers {
  readonly labels?: Readonly<Record<string, string | null>> | null;
  readonly description?: string | null;
}

const NO_OBJECT = {
  error: (issue: { code: string }) =>
    issue.code === "invalid_type" ? 'must be a JSON object such as {"limits": {"minute": 60}}' : undefined,
};
const limits = z.exactOptional(settableLimitsMember.nullable());

/** The body of `PUT /api/containers/{container}`. */
export const policyRequest: z.ZodType<PolicyMembers> = z.strictObject({ limits }, NO_OBJECT);

/** The body of `PATCH /api/containers/{container}`. */
export const policyPatch: z.ZodType<PolicyPatch> = z.strictObject(
  {
    limits,
    labels: z.exactOptional(labelsPatchMember.nullable()),
    description: z.exactOptional(descriptionMember.nullable()),
  },
  NO_OBJECT,
);

function whyNotInPut(member: string): string | null {
  if (member === "labels" || member === "description") return "is set with PATCH, because PUT replaces the limits only";
  return whyNotInPatch(member);
}

function whyNotInPatch(member: string): string | null {
  if (member === "suspended") return "is changed with POST to /suspend and /resume below this path";
  if (member === "limits.container" || member === "limits.token")
    return 'is not a member; write {"limits":{"minute":60}}';
  const setting = SETTINGS.find(({ names }) => names.test(member));
  if (setting) return `is not set for a container: ${setting.instead}`;
  // The most usual mistake: the windows belong one level lower.
  return isWindow(member) ? 'belongs in limits, such as {"limits":{"minute":60}}' : null;
}

/** What other services set for a container, and where it is set here. */
const SETTINGS: readonly { readonly names: RegExp; readonly instead: string }[] = [
  { names: /^(?:memory|mem|ram)\w*$/i, instead: "the operator sets --memory-limit, for all containers" },
  { names: /^cpus?\w*$/i, instead: "the operator sets --cpu-limit, for all containers" },
  {
    names: /^timeout\w*$/i,
    instead: "a task, a token and a request have a timeout, and the operator sets --wall-limit",
  },
  { names: /^(?:env|environment|secrets|params|variables)$/i, instead: "a task or a token has params and secrets" },
  { names: /^(?:image|runtime|version)$/i, instead: "all code runs in the Node of the service" },
];

function isWindow(member: string): boolean {
  return WINDOW_NAMES.some((window) => window === member);
}

/** Returns the limits in a fixed order of windows. */
function setLimits(requested: SettableLimits): Limits {
  const set: { -readonly [Window in keyof Limits]: number } = {};
  for (const window of WINDOW_NAMES) {
    const limit = requested[window] ?? null;
    if (limit !== null) set[window] = limit;
  }
  return Object.freeze(set);
}

function setLabels(requested: Readonly<Record<string, string | null>>): Labels {
  const set = Object.entries(requested).filter((entry): entry is [string, string] => entry[1] !== null);
  if (set.length <= MAX_LABELS) return Object.freeze(Object.fromEntries(set));
  const detail = `would be ${set.length} in all and ${LABELS_FORM}; remove a label with null`;
  throw membersProblem(SUBJECT, [{ member: "labels", detail }]);
}
