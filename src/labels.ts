import { z } from "zod";

/** Texts that describe a token, a container or a task, by name. Lists can be filtered by them. They change no right. */
export type Labels = Readonly<Record<string, string>>;

/** The most labels of one token, container or task, which each read returns and each filtered list compares. */
export const MAX_LABELS = 16;
const MAX_VALUE_CHARS = 128;
const MAX_DESCRIPTION_CHARS = 512;
/** The most labels in a patch: it may remove as many labels as there are, and set as many others. */
const MAX_PATCHED = 2 * MAX_LABELS;
/** The part of an invalid name that an error repeats. */
const MAX_SHOWN_CHARS = 64;

/** A regular expression for the name of a label. */
export const LABEL_NAME_PATTERN = "[a-z0-9._-]{1,32}";
const NAME = new RegExp(`^${LABEL_NAME_PATTERN}$`);
const NAME_FORM = "has an invalid name; use 1 to 32 of a-z 0-9 . _ -";
const VALUE = `must be a text of at most ${MAX_VALUE_CHARS} characters`;
const DESCRIPTION = `must be a text of at most ${MAX_DESCRIPTION_CHARS} characters`;

const value = z.string(VALUE).max(MAX_VALUE_CHARS, VALUE);

/** Labels by name. */
export const labelsMember: z.ZodType<Labels> = labelsOf(value, MAX_LABELS, "string", formOf(MAX_LABELS));

/** A merge patch of labels (RFC 7396): `null` removes a label. */
export const labelsPatchMember: z.ZodType<Readonly<Record<string, string | null>>> = labelsOf(
  value.nullable(),
  MAX_PATCHED,
  ["string", "null"],
  `${formOf(MAX_LABELS)}, and of at most ${MAX_PATCHED} members with those that are null, which remove labels`,
);

export const descriptionMember: z.ZodType<string> = z.string(DESCRIPTION).max(MAX_DESCRIPTION_CHARS, DESCRIPTION);

/** Whether a text can be the name of a label. */
export function isLabelName(text: string): boolean {
  return NAME.test(text) && text !== "__proto__";
}

/** The fault of an object that is not a set of labels, or has more labels than allowed. */
export const LABELS_FORM: string = formOf(MAX_LABELS);

function formOf(most: number): string {
  return `must be an object of at most ${most} texts by their names, such as {"team": "billing"}`;
}

/**
 * @param types the types of a value in JSON Schema
 * @param form the fault of an object with more members than `most`, and of any other value
 */
function labelsOf<T>(
  each: z.ZodType<T>,
  most: number,
  types: string | string[],
  form: string,
): z.ZodType<Readonly<Record<string, T>>> {
  return (
    z
      .unknown()
      // Before the labels are read: thousands of labels, or a long name, get one fault. Zod drops `__proto__` silently.
      .superRefine((input, context) => {
        const fault = (message: string, path: string[]): void => context.addIssue({ code: "custom", message, path });
        if (typeof input !== "object" || input === null || Array.isArray(input)) return fault(form, []);
        const names = Object.keys(input);
        if (names.length > most) return fault(form, []);
        for (const name of names) {
          if (name === "__proto__" || name.length > MAX_SHOWN_CHARS) fault(NAME_FORM, [name.slice(0, MAX_SHOWN_CHARS)]);
        }
      })
      .pipe(
        z.record(z.string().regex(NAME), each, {
          error: (issue) => (issue.code === "invalid_key" ? NAME_FORM : undefined),
        }),
      )
      .meta({
        type: "object",
        maxProperties: most,
        propertyNames: { pattern: NAME.source },
        additionalProperties: { type: types, maxLength: MAX_VALUE_CHARS },
      })
  );
}
