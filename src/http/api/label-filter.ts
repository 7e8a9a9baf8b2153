import { z } from "zod";

import { isLabelName, LABEL_NAME_PATTERN, type Labels, MAX_LABELS } from "../../labels.ts";

/** Whether labels satisfy all parameters `label` of a query. */
export type LabelFilter = (labels: Labels) => boolean;

const FORM = "must be a name of 1 to 32 of a-z 0-9 . _ -, or a name and a value such as team=billing";

/**
 * The parameters `label` of a list. `label=team` selects what has the label, and `label=team=billing` what has it with this
 * value.
 */
export const labelParameter: z.ZodType<LabelFilter | undefined> = z
  .array(z.string())
  .max(MAX_LABELS, `may occur at most ${MAX_LABELS} times`)
  .transform((texts, context): LabelFilter => {
    const wanted = texts.map(readLabel);
    if (wanted.some(({ name }) => !isLabelName(name))) {
      context.addIssue({ code: "custom", message: FORM });
      return z.NEVER;
    }
    return (labels) =>
      wanted.every(({ name, value }) => Object.hasOwn(labels, name) && (value === null || labels[name] === value));
  })
  .optional()
  .meta({
    description: "only with this label, as `name` or `name=value`; can be repeated: all must hold",
    items: { type: "string", pattern: `^${LABEL_NAME_PATTERN}(?:=|$)` },
  });

function readLabel(text: string): { readonly name: string; readonly value: string | null } {
  const at = text.indexOf("=");
  return at < 0 ? { name: text, value: null } : { name: text.slice(0, at), value: text.slice(at + 1) };
}
