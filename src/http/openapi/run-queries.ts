import { z } from "zod";

import type { Query } from "../api/queries.ts";

/** The parameters of runs. The service reads them by hand, because the other parameters are for the task. */

const taskUrl = z.string().optional().meta({
  format: "uri",
  description: "the URL of the code, if the body is not the code",
});
const timeout = z
  .string()
  .optional()
  .meta({
    description:
      "a duration from `10ms`; the lowest timeout of the request, the token, the task and the operator applies",
    examples: ["5s"],
  });

export const RUN_CODE: Query = z.strictObject({ task_url: taskUrl });
export const TASK_CODE: Query = z.strictObject({});
export const RUN_OPTIONS: Query = z.strictObject({
  timeout,
  file: z.string().max(255).optional().meta({ description: "your name for the text, in positions and stacks" }),
  maxResult: z
    .string()
    .optional()
    .meta({ description: "how much of the result the record shows, such as `1MiB`, or `max`" }),
  task: z.string().optional().meta({ description: "the name of a task to run; the body is then its data" }),
});
