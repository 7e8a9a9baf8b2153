import { z } from "zod";

import type { ProblemCode } from "../../error-codes.ts";
import { ENVELOPE } from "../../source/envelope.ts";
import { RECORD_OPTIONS } from "../run/record-options.ts";
import {
  CODE_ERRORS,
  type Content,
  type Method,
  named,
  type Operation,
  RUN_HEADERS,
  type SuccessAnswer,
} from "./operation.ts";
import { RUN_CODE, RUN_OPTIONS, TASK_CODE } from "./run-queries.ts";
import { ANSWERED_RECORD, EXAMPLE_RECORD } from "./run-schemas.ts";

const TAG = "Runs";

const text = named("Text", z.string());
const envelope = named("Envelope", ENVELOPE);
const anything = named("Anything", z.unknown().meta({ description: "what the task returns" }));

/** Errors before the run, after it began, and of the task itself. */
const RUN_ERRORS: readonly ProblemCode[] = [
  "container_invalid",
  "request_invalid",
  "credentials_ambiguous",
  "code_missing",
  "code_ambiguous",
  ...CODE_ERRORS,
  "code_pinned",
  "task_url_invalid",
  "task_url_forbidden",
  "task_url_unreachable",
  "task_url_status",
  "task_url_too_large",
  "task_url_not_code",
  "token_missing",
  "token_invalid",
  "token_forbidden",
  "quota_exceeded",
  "container_suspended",
  "not_found",
  "method_not_allowed",
  "run_cancelled",
  "container_limited",
  "token_limited",
  "container_busy",
  "auth_limited",
  "sandbox_failed",
  "internal_error",
  "draining",
  "overloaded",
  "store_unavailable",
];
/** Errors that the answer of a run itself has, and that its record has otherwise. */
const TASK_ERRORS: readonly ProblemCode[] = [
  "task_error",
  "task_threw",
  "task_timeout",
  "task_stalled",
  "task_blocked",
  "task_memory",
  "task_exited",
  "result_unserializable",
  "result_too_large",
  "container_restarted",
];

const CODE: readonly Content[] = [
  { type: "application/json", schema: envelope, example: { code: "return context.data.n * 7", data: { n: 6 } } },
  { type: "application/javascript", schema: text, example: "return 6 * 7" },
  { type: "application/typescript", schema: text, example: "const n: number = 6; return n * 7" },
  { type: "*/*", schema: text, example: "6 * 7" },
];
const METHODS = ["get", "post", "put", "patch", "delete"] as const;
const METHOD_NAMES = { get: "Get", post: "Post", put: "Put", patch: "Patch", delete: "Delete" } as const;
const DATA: readonly Content[] = [{ type: "*/*", schema: anything, example: { n: 6 } }];

const result: SuccessAnswer = {
  status: 200,
  description: "the result as JSON. A `Response` of the task is sent with its own status, headers and body",
  content: [{ type: "*/*", schema: anything, example: 42 }],
  headers: [...RUN_HEADERS, "Caisson-Hint"],
};
const EVENTS =
  'event: console\ndata: {"atMs":0.1,"level":"info","text":"hi"}\n\nevent: result\ndata: ...\n\nevent: record\ndata: ...\n\n';

function runs(method: Method, takesCode: boolean): Operation {
  return {
    method,
    path: "/api/run/{container}",
    id: `runBy${METHOD_NAMES[method]}`,
    tag: TAG,
    summary: takesCode ? "Run code, and answer with its result" : "Run the code of a URL, and answer with its result",
    token: "required",
    query: RUN_CODE,
    passesQuery: true,
    headers: ["traceparent"],
    ...(takesCode && { body: { isRequired: false, content: CODE } }),
    answers: [result],
    errors: [...RUN_ERRORS, ...TASK_ERRORS],
    startsRun: true,
    isOfTask: true,
  };
}

function tasks(method: Method, path: string, id: string, summary: string): Operation {
  return {
    method,
    path,
    id: `${id}By${METHOD_NAMES[method]}`,
    tag: TAG,
    summary,
    description:
      "A public task answers without a token, and decides itself what credentials it accepts. HEAD is GET without a body. OPTIONS is answered by the fetch handler of a public task, and otherwise by the service.",
    token: "optional",
    query: TASK_CODE,
    passesQuery: true,
    headers: ["traceparent"],
    ...(method !== "get" && { body: { isRequired: false, content: DATA } }),
    answers: [result],
    errors: [...RUN_ERRORS, ...TASK_ERRORS],
    startsRun: true,
    isOfTask: true,
  };
}

const TASK = "/api/run/{container}/{task}";

export const RUN_OPERATIONS: readonly Operation[] = [
  ...METHODS.map((method) => runs(method, method !== "get" && method !== "delete")),
  ...METHODS.map((method) => tasks(method, TASK, "runTask", "Run a named task")),
  ...METHODS.map((method) =>
    tasks(
      method,
      `${TASK}/{path}`,
      "runTaskPath",
      "Run a named task, which receives the rest of the path (any number of segments)",
    ),
  ),
  {
    method: "post",
    path: "/api/runs/{container}",
    id: "runWithRecord",
    tag: TAG,
    summary: "Run code or a named task, and answer with the record of the run",
    description:
      "A run that is admitted is answered 200, whatever becomes of it. `status` and `error` of the record say it.",
    token: "optional",
    query: RUN_OPTIONS,
    headers: ["Accept", "traceparent"],
    body: {
      isRequired: false,
      content: [
        {
          type: "application/json",
          schema: named("RecordedEnvelope", z.intersection(withoutClosing(ENVELOPE), withoutClosing(RECORD_OPTIONS))),
          example: { code: "return context.query.n * 7", query: "n=6", timeout: "5s" },
        },
        ...CODE.slice(1),
      ],
    },
    answers: [
      {
        status: 200,
        description: "the record; as events with `Accept: text/event-stream`",
        content: [
          {
            type: "application/json",
            schema: ANSWERED_RECORD,
            example: { ...EXAMPLE_RECORD, result: 42 },
          },
          { type: "text/event-stream", schema: text, example: EVENTS },
        ],
        headers: [...RUN_HEADERS, "X-Accel-Buffering"],
      },
    ],
    errors: RUN_ERRORS,
    startsRun: true,
  },
];

/** Both schemas of an intersection refuse unknown members, so neither may do so alone. */
function withoutClosing(schema: z.ZodType): z.ZodType {
  return (schema as z.ZodObject).loose();
}
