import { Problem } from "../errors.ts";

/** The quota of one family for one kind of data. */
export interface FamilyQuota {
  readonly family: string;
  readonly most: number;
}

/** @param fact a sentence such as `the token family has 1000 unexpired tokens, which is the maximum` */
export function quotaExceeded(fact: string, hint: string): Problem {
  return new Problem("quota_exceeded", fact, { hint });
}
