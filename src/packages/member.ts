import { z } from "zod";

import { BAD_RANGE, faultOfName, isRange } from "../package-names.ts";
import { MAX_NAMED, type Ranges } from "./names.ts";

const FORM = `must be an object of at most ${MAX_NAMED} ranges by the names of packages, such as {"zod": "^4"}`;
/** The part of an invalid name that an error repeats. */
const MAX_SHOWN_CHARS = 64;

/** The packages of a request: ranges by name. It is not read with a record of zod, which drops `__proto__` silently. */
export const rangesMember: z.ZodType<Ranges> = z
  .unknown()
  .transform((input, context): Ranges => {
    const fault = (message: string, path: string[]): void => {
      context.addIssue({ code: "custom", message, path });
    };
    if (typeof input !== "object" || input === null || Array.isArray(input)) {
      fault(FORM, []);
      return z.NEVER;
    }
    const entries = Object.entries(input as Record<string, unknown>);
    if (entries.length > MAX_NAMED) {
      fault(FORM, []);
      return z.NEVER;
    }
    for (const [name, range] of entries) {
      const badName = faultOfName(name);
      if (badName !== null) fault(badName, [name.slice(0, MAX_SHOWN_CHARS)]);
      else if (typeof range !== "string" || !isRange(range)) fault(BAD_RANGE, [name.slice(0, MAX_SHOWN_CHARS)]);
    }
    return Object.fromEntries(entries.map(([name, range]) => [name, String(range)]));
  })
  .meta({ type: "object", maxProperties: MAX_NAMED, additionalProperties: { type: "string" } });

const UPDATE = `must be a list of at most ${MAX_NAMED} packages of the task, such as ["zod"]`;

/** The packages of a task whose versions move. */
export const updateMember: z.ZodType<string[]> = z
  .array(
    z.string(UPDATE).refine((name) => faultOfName(name) === null, "is not the name of a package"),
    UPDATE,
  )
  .max(MAX_NAMED, UPDATE);
