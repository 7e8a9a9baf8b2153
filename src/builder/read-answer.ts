import semver from "semver";
import { z } from "zod";

import { type Answer, FAILURE_CODES, MAX_PACKAGES } from "../bundler/build-messages.ts";
import { isPackageName } from "../package-names.ts";

/** The longest first line of an answer: 200 packages with their dependencies. */
export const MAX_HEAD_BYTES: number = 2 ** 20;

const MAX_TEXT = 4_096;
const MAX_VERSION = 128;

const name = z.string().refine(isPackageName);
const version = z
  .string()
  .max(MAX_VERSION)
  .refine((text) => semver.valid(text) !== null);
const key = z.string().max(MAX_VERSION + 256);
/** The names are checked in `isWhole`, because a name such as `__proto__` is not a member for every parser. */
const keys = z.record(z.string(), key);

const lockedPackage = z.strictObject({
  name,
  version,
  integrity: z.string().regex(/^sha512-[A-Za-z0-9+/]{86}==$/),
  dependencies: keys,
});
const answer = z.discriminatedUnion("is", [
  z.strictObject({ is: z.literal("built"), packages: z.array(lockedPackage).max(MAX_PACKAGES), roots: keys }),
  z.strictObject({ is: z.literal("transformed") }),
  z.strictObject({
    is: z.literal("failed"),
    code: z.enum(FAILURE_CODES),
    detail: z.string().max(MAX_TEXT),
    hint: z.string().max(MAX_TEXT).nullable(),
  }),
]);

/** Reads the first line of a builder's answer. A builder may have been taken over. @returns null if it is not an honest answer. */
export function readAnswer(line: string): Answer | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  const { data } = answer.safeParse(value);
  if (!data) return null;
  return data.is !== "built" || isWhole(data) ? data : null;
}

/** Whether each package occurs once, in order, and each key names one of them. */
function isWhole({ packages, roots }: Extract<Answer, { is: "built" }>): boolean {
  const known = packages.map((each) => `${each.name}@${each.version}`);
  const all = new Set(known);
  const named = [roots, ...packages.map(({ dependencies }) => dependencies)].flatMap((each) => Object.entries(each));
  return all.size === packages.length && named.every(([each, target]) => isPackageName(each) && all.has(target));
}
