import { Problem } from "../errors.ts";

/** What a family may keep of one kind. */
export interface FamilyQuota {
  readonly family: string;
  readonly most: number;
}

/** @param fact such as `the token and those below it have 1000 unexpired tokens, and may have no more` */
export function quotaExceeded(fact: string, hint: string): Problem {
  return new Problem("quota_exceeded", fact, { hint });
}
