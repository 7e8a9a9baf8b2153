import { z } from "zod";

const position = z.looseObject({ file: z.string(), line: z.number(), column: z.number() });
const text = z.string().nullable();

/**
 * The members of a run that this node reads itself, for example to write them for a model. A node of another version may send more, which
 * only the client reads.
 */
export const READ_MEMBERS: ReadMembers = {
  run: z.string(),
  container: z.string(),
  task: text,
  status: z.string(),
  startedAt: z.string(),
  ms: z.looseObject({ run: z.number().nullable() }),
  error: z
    .looseObject({ code: z.string(), name: text, message: z.string(), hint: text, at: position.nullable() })
    .nullable(),
  hint: text,
};

interface ReadMembers {
  readonly run: z.ZodString;
  readonly container: z.ZodString;
  readonly task: z.ZodNullable<z.ZodString>;
  readonly status: z.ZodString;
  readonly startedAt: z.ZodString;
  readonly ms: z.ZodType;
  readonly error: z.ZodType;
  readonly hint: z.ZodType;
}
