import { z } from "zod";

import { BODY_ERRORS, named, ok, type Operation, TOKEN_ERRORS } from "./operation.ts";
import { POSITION } from "./run-schemas.ts";

const text = named("Text", z.string());
const request = named(
  "CheckRequest",
  z.object({
    code: z.string(),
    modules: z.record(z.string(), z.string()).exactOptional(),
    packages: z
      .record(z.string(), z.string())
      .exactOptional()
      .meta({ description: "the packages that the code imports, with their ranges; a check builds none" }),
    file: z
      .string()
      .exactOptional()
      .meta({ description: "your name for the code; `.ts` at its end: TypeScript first" }),
  }),
);
const check = named(
  "CodeCheck",
  z.object({
    checked: z.boolean().meta({ description: "false if there was no room to parse the code; it may have an error" }),
    error: z
      .object({
        code: z.enum([
          "code_syntax",
          "code_shape",
          "module_missing",
          "packages_forbidden",
          "packages_too_large",
          "request_invalid",
        ]),
        message: z.string(),
        hint: z.string().nullable(),
        at: POSITION.nullable(),
      })
      .nullable()
      .meta({ description: "null if the code parses" }),
  }),
);
const EXAMPLE = {
  checked: true,
  error: {
    code: "code_syntax",
    message: "Unexpected token ';' (line 1, column 11)\n  const a = ;\n            ^",
    hint: null,
    at: { file: "task.js", line: 1, column: 11, frame: null },
  },
};

export const CHECK_OPERATIONS: readonly Operation[] = [
  {
    method: "post",
    path: "/api/check/{container}",
    id: "checkCode",
    tag: "Runs",
    summary: "Parse code without running it, with the verb run or tasks",
    description: "For editors. It counts against no limit of runs, and against `--family-checks`.",
    token: "required",
    body: {
      isRequired: true,
      content: [
        { type: "application/json", schema: request, example: { code: "const a = ;", file: "task.ts" } },
        { type: "application/javascript", schema: text, example: "const a = ;" },
        { type: "application/typescript", schema: text, example: "const a: number = ;" },
        { type: "*/*", schema: text, example: "const a = ;" },
      ],
    },
    answers: [ok("whether the code parses", check, EXAMPLE)],
    errors: [...TOKEN_ERRORS, ...BODY_ERRORS, "container_invalid", "code_missing", "code_too_large"],
  },
];
