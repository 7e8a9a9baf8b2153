import type { z } from "zod";

import { Problem } from "./errors.ts";

/** One thing that is wrong with a JSON object that was sent, at the path of the member. */
export interface MemberFault {
  readonly member: string;
  readonly detail: string;
}

/** An answer must not be many times larger than the nonsense that it answers. */
const MAX_REPORTED = 100;
const MAX_NAME_CHARS = 64;

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

export function unknownMember(): string {
  return "is not a member that is known here";
}
