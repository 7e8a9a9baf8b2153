import type { z } from "zod";

import { Problem } from "./errors.ts";

/** What there is to read of a JSON object that was sent. */
export interface SoundMembers<T> {
  /** The members without a fault; null where it is no object at all. */
  readonly data: T | null;
  readonly faults: readonly MemberFault[];
  /** The names of the others. */
  readonly faulty: ReadonlySet<string>;
}

/** All that is wrong with what was asked for. */
export interface RequestFaults {
  /** In itself. */
  readonly invalid: readonly MemberFault[];
  /** It is more than the token that asks has. */
  readonly exceeding: readonly MemberFault[];
}

/** One thing that is wrong with a JSON object that was sent, at the path of the member. */
export interface MemberFault {
  readonly member: string;
  readonly detail: string;
}

/** An answer must not be many times larger than the nonsense that it answers. */
const MAX_REPORTED = 100;
const MAX_NAME_CHARS = 64;

/**
 * Reads an object whose members may all be left out. What is sound is read also where others are not, so that all that is
 * wrong with how the members go together can be told at once with these faults.
 *
 * @param whyNot as of `schemaFaults`.
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
  const sound = Object.entries(input as object).filter(([name]) => !faulty.has(name));
  return { data: schema.parse(Object.fromEntries(sound)), faults, faulty };
}

/**
 * What a schema says of an object, a fault a member.
 *
 * @param whyNot says why a member is not one, by its path.
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
 * The answer to an object with these faults, which are at least one.
 *
 * @param subject such as `the request for a token`.
 */
export function membersProblem(subject: string, faults: readonly MemberFault[]): Problem {
  const { member, detail } = faults[0]!;
  const count = faults.length === 1 ? "a fault" : `${faults.length} faults, the first`;
  const fault = member === "" ? `it ${detail}` : `${member} ${detail}`;
  return new Problem("request_invalid", `${subject} has ${count}: ${fault}`, {
    violations: faults.slice(0, MAX_REPORTED),
  });
}

/**
 * Refuses a request with all that is wrong with it at once.
 *
 * @param subject as of `membersProblem`.
 * @param lead what a fault of the other kind stands behind.
 * @throws {Problem} `request_invalid` where something is wrong in itself, `token_forbidden` where all of it would be right
 * for somebody who has more.
 */
export function refuseFaults(
  subject: string,
  { invalid, exceeding }: RequestFaults,
  lead = "the token may issue no more than it has: ",
): void {
  if (invalid.length > 0) throw membersProblem(subject, [...invalid, ...exceeding]);
  if (exceeding.length === 0) return;
  const { member, detail } = exceeding[0]!;
  const count = exceeding.length === 1 ? "" : `, the first of ${exceeding.length} such things`;
  const fault = member === "" ? detail : `${member} ${detail}`;
  throw new Problem("token_forbidden", `${lead}${fault}${count}`, {
    violations: exceeding.slice(0, MAX_REPORTED),
  });
}

export function unknownMember(): string {
  return "is not a member that is known here";
}
