import { z } from "zod";

import { isMemberName, MEMBER_NAME, MEMBER_NAME_PATTERN } from "../members.ts";
import type { Secrets } from "./vault.ts";

/** The maximum number of secrets, which each run receives. */
const MAX_SECRETS = 100;
const MAX_CHARS = 16_384;
const MAX_NAME_CHARS = 64;
const FORM = `must be an object of at most ${MAX_SECRETS} texts by their names, such as {"API_KEY": "value"}`;
const TEXT = `must be a text of at most ${MAX_CHARS} characters`;

/** The secrets of a request. No fault contains a secret. */
export const secretsMember: z.ZodType<Secrets> = z
  .unknown()
  .transform((input, context) => {
    const fault = (message: string, path: string[]): never => {
      context.addIssue({ code: "custom", message, path });
      return z.NEVER;
    };
    if (typeof input !== "object" || input === null || Array.isArray(input)) return fault(FORM, []);
    const entries = Object.entries(input);
    if (entries.length > MAX_SECRETS) return fault(FORM, []);
    for (const [name, value] of entries) {
      if (!isMemberName(name)) fault(MEMBER_NAME, [name.slice(0, MAX_NAME_CHARS)]);
      else if (typeof value !== "string" || value.length > MAX_CHARS) fault(TEXT, [name]);
    }
    return Object.fromEntries(entries);
  })
  .meta({
    type: "object",
    maxProperties: MAX_SECRETS,
    propertyNames: { pattern: MEMBER_NAME_PATTERN },
    additionalProperties: { type: "string", maxLength: MAX_CHARS },
  });
