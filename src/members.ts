import type { z } from "zod";

import { Problem } from "./errors.ts";

/** The valid members of a received JSON object, and its faults. */
export interface SoundMembers<T> {
  /** The members without a fault; null if the value is not an object. */
  readonly data: T | null;
  readonly faults: readonly MemberFault[];
  /** The names of the members with a fault. */
  readonly faulty: ReadonlySet<string>;
}

/** All faults of a request. */
export interface RequestFaults {
  /** The faults that no token could permit. */
  readonly invalid: readonly MemberFault[];
  /** The members that exceed the token of the caller. */
  readonly exceeding: readonly MemberFault[];
}

/** A fault of a received JSON object, with the path of its member. */
export interface MemberFault {
  readonly member: string;
  readonly detail: string;
}

/** The maximum number of reported faults, so that an answer is not many times larger than its request. */
const MAX_REPORTED = 100;
const MAX_NAME_CHARS = 64;

/**
 * Reads an object whose members are all optional. It reads valid members also if others are invalid, so that the caller
 * can report contradictions between members together with these faults.
 *
 * @param whyNot see `schemaFaults`.
 */
export function readSound<T>(
  schema: z.ZodType<T>,
  input: unknown,
  whyNot?: (member: string) => string,
): SoundMembers<T> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return { data: parsed.data, faults: [], faulty: new Set() };
  const faults = schemaFaults(parsed.error, whyNot);
  const faulty = new Set<string>();
  for (const issue of parsed.error.issues) {
    const names = issue.path.length === 0 && issue.code === "unrecognized_keys" ? issue.keys : issue.path.slice(0, 1);
    if (names.length === 0) return { data: null, faults, faulty };
    for (const name of names) faulty.add(String(name));
  }
  const valid = Object.entries(input as object).filter(([name]) => !faulty.has(name));
  return { data: schema.parse(Object.fromEntries(valid)), faults, faulty };
}

/**
 * Converts the errors of a schema into faults, one for each member.
 *
 * @param whyNot returns the detail of the fault for an unknown member, by its path.
 */
export function schemaFaults(
  error: z.core.$ZodError,
  whyNot: (member: string) => string = unknownMember,
): MemberFault[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code !== "unrecognized_keys") return [{ member: path.join("."), detail: issue.message }];
    return issue.keys.slice(0, MAX_REPORTED).map((key) => ({
      member: [...path, key.slice(0, MAX_NAME_CHARS)].join("."),
      detail: whyNot([...path, key].join(".")),
    }));
  });
}

/**
 * Creates the answer to an object with at least one fault.
 *
 * @param subject the subject of the text, such as `the request for a token`.
 * @param hint the fix, in one sentence.
 */
export function membersProblem(subject: string, faults: readonly MemberFault[], hint?: string): Problem {
  const { member, detail } = faults[0]!;
  const count = faults.length === 1 ? "a fault" : `${faults.length} faults, the first`;
  const fault = member === "" ? `it ${detail}` : `${member} ${detail}`;
  return new Problem("request_invalid", `${subject} has ${count}: ${fault}`, {
    violations: faults.slice(0, MAX_REPORTED),
    ...(hint !== undefined && { hint }),
  });
}

/**
 * Rejects a request with faults, and reports all of them at once.
 *
 * @param subject the subject of the text, as in `membersProblem`.
 * @param lead the start of the text if the request only exceeds the token.
 * @throws {Problem} `request_invalid` if a member is invalid, `token_forbidden` if a token with more permissions could
 *   send the request.
 */
export function refuseFaults(
  subject: string,
  { invalid, exceeding }: RequestFaults,
  lead = "the token may not issue more than it has: ",
): void {
  if (invalid.length > 0) throw membersProblem(subject, [...invalid, ...exceeding]);
  if (exceeding.length === 0) return;
  const { member, detail } = exceeding[0]!;
  const count = exceeding.length === 1 ? "" : ` (the first of ${exceeding.length} faults)`;
  const fault = member === "" ? detail : `${member} ${detail}`;
  throw new Problem("token_forbidden", `${lead}${fault}${count}`, {
    violations: exceeding.slice(0, MAX_REPORTED),
  });
}

export function unknownMember(): string {
  return "is not a known member";
}
