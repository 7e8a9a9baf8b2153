import { z } from "zod";

import { rollBackRequest, taskRequest } from "../../tasks/task-request.ts";
import { ERROR_VISIBILITIES } from "../../tasks/task.ts";
import { LABELLED_PAGE, TASK_SOURCE } from "../api/queries.ts";
import {
  BODY_ERRORS,
  CODE_ERRORS,
  jsonContent,
  named,
  ok,
  type Operation,
  RUN_HEADERS,
  type SuccessAnswer,
  TOKEN_ERRORS,
} from "./operation.ts";
import { ANSWERED_RECORD, EXAMPLE_RECORD } from "./run-schemas.ts";
import { DESCRIPTION, EXAMPLE_JTI, LABELS, LIMITS, LOCK, NEXT } from "./schemas.ts";

const TAG = "Tasks";

const request = named("TaskRequest", taskRequest);
const source = named("Text", z.string());
const rollBack = named("RollBackRequest", rollBackRequest);
const members = {
  container: z.string(),
  name: z.string(),
  version: z.int(),
  etag: z.string(),
  jti: z.string().meta({ description: "the token of the task, which is no credential" }),
  url: z.string().nullable(),
  sha256: z.string().nullable(),
  public: z.boolean(),
  errors: z.enum(ERROR_VISIBILITIES),
  record: z.literal(["input", null]),
  tool: z.boolean(),
  input: z.record(z.string(), z.unknown()).nullable(),
  packages: z.record(z.string(), z.string()).nullable(),
  labels: LABELS,
  description: DESCRIPTION,
  params: z.record(z.string(), z.unknown()),
  limits: z.object({ container: LIMITS.exactOptional(), token: LIMITS.exactOptional() }),
  timeout: z.string().nullable(),
  net: z.union([z.literal(false), z.array(z.string()), z.null()]),
  fresh: z.boolean(),
  exp: z.int().nullable(),
  by: z.string(),
  changedAt: z.iso.datetime(),
};
const end = {
  expired: z.boolean().exactOptional(),
  revoked: z.boolean().exactOptional(),
};
const code = {
  code: z.string().exactOptional(),
  modules: z.record(z.string(), z.string()).nullable().exactOptional(),
  typescript: z.boolean().exactOptional(),
  lock: LOCK.nullable().exactOptional(),
};
const secretNames = z.array(z.string()).nullable().exactOptional().meta({
  description:
    "only in the answer to a read: what the code receives as `context.secrets`, without the values; null if unknown",
});
const task = named("Task", z.object({ ...members, ...end, ...code, secretNames }));
const page = named("TaskPage", z.object({ tasks: z.array(z.object({ ...members, ...end })), next: NEXT }));
const versions = named(
  "TaskVersions",
  z.object({ versions: z.array(z.object({ ...members, lock: LOCK.nullable() })) }),
);
const version = named("StoredTask", z.object({ ...members, ...code, lock: LOCK.nullable() }));
const deleted = named("DeletedTask", z.object({ container: z.string(), name: z.string(), deleted: z.literal(true) }));
const dryRun = named("DryRun", z.object({ record: ANSWERED_RECORD }));

const EXAMPLE = {
  container: "acme",
  name: "hook",
  version: 3,
  etag: "3-9f86d081",
  jti: EXAMPLE_JTI,
  url: null,
  sha256: null,
  public: false,
  errors: "hidden",
  record: null,
  tool: false,
  input: null,
  packages: null,
  labels: { team: "billing" },
  description: null,
  params: {},
  limits: {},
  timeout: null,
  net: null,
  fresh: false,
  exp: null,
  by: EXAMPLE_JTI,
  changedAt: "2026-11-23T10:00:12.000Z",
};
const building = named(
  "BuildingTask",
  z.object({ container: z.string(), name: z.string(), build: z.object({ state: z.literal("building") }) }),
);
const EXAMPLE_BUILDING = { container: "acme", name: "hook", build: { state: "building" } };
const EXAMPLE_RUN = { record: { ...EXAMPLE_RECORD, result: 42 } };
const PATH = "/api/tasks/{container}/{task}";
const errors = [...TOKEN_ERRORS, "container_invalid"] as const;
const changeErrors = [
  ...errors,
  ...BODY_ERRORS,
  "precondition_failed",
  "quota_exceeded",
  ...CODE_ERRORS,
  "container_busy",
  "container_restarted",
  "sandbox_failed",
  "draining",
] as const;

const one = (description: string, status = 200): SuccessAnswer => ({
  ...ok(description, task, EXAMPLE, status),
  headers: ["ETag"],
});

export const TASK_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/api/tasks/{container}",
    id: "listTasks",
    tag: TAG,
    summary: "List the tasks of a container by name",
    token: "required",
    query: LABELLED_PAGE,
    answers: [ok("a page of tasks, without their code", page, { tasks: [EXAMPLE], next: null })],
    errors,
  },
  {
    method: "get",
    path: PATH,
    id: "getTask",
    tag: TAG,
    summary: "Read a task with its code, and the names of its secrets",
    token: "required",
    headers: ["If-Match", "If-None-Match"],
    answers: [one("the task"), { status: 304, description: "the task is unchanged", content: [], headers: ["ETag"] }],
    errors: [...errors, "not_found", "precondition_failed"],
  },
  {
    method: "put",
    path: PATH,
    id: "putTask",
    tag: TAG,
    summary: "Create or change a task. A member that is left out stays as it was",
    token: "required",
    description:
      "The body may be the source itself. Its other members are then in the query, and `secrets` cannot be set.",
    query: TASK_SOURCE,
    headers: ["If-Match", "If-None-Match"],
    body: {
      isRequired: true,
      content: [
        ...jsonContent(request, { code: "return 6 * 7", public: true }),
        { type: "application/javascript", schema: source, example: "return 6 * 7" },
        { type: "text/javascript", schema: source, example: "return 6 * 7" },
        { type: "application/typescript", schema: source, example: "const n: number = 6; return n * 7" },
      ],
    },
    answers: [
      {
        ...one("the task is changed; or, with `dryRun=true`, the record of its one run"),
        content: jsonContent(named("TaskOrDryRun", z.union([task, dryRun])), EXAMPLE_RUN),
        headers: ["ETag", "Caisson-Hint", ...RUN_HEADERS],
      },
      { ...one("the task is created", 201), headers: ["ETag", "Caisson-Hint"] },
      {
        ...ok("the packages are being built, and then the task is published", building, EXAMPLE_BUILDING, 202),
        headers: ["Retry-After"],
      },
    ],
    errors: [...changeErrors, "container_limited", "container_suspended"],
    startsRun: true,
  },
  {
    method: "delete",
    path: PATH,
    id: "deleteTask",
    tag: TAG,
    summary: "Delete a task with its token, its versions and its secrets",
    token: "required",
    headers: ["If-Match", "If-None-Match"],
    answers: [ok("the task is deleted", deleted, { container: "acme", name: "hook", deleted: true })],
    errors: [...errors, "not_found", "precondition_failed"],
  },
  {
    method: "get",
    path: `${PATH}/versions`,
    id: "listTaskVersions",
    tag: TAG,
    summary: "List the last ten versions of a task, the newest first",
    token: "required",
    answers: [ok("the versions", versions, { versions: [{ ...EXAMPLE, lock: null }] })],
    errors: [...errors, "not_found"],
  },
  {
    method: "get",
    path: `${PATH}/versions/{version}`,
    id: "getTaskVersion",
    tag: TAG,
    summary: "Read a version of a task with its code, without its secrets",
    token: "required",
    answers: [ok("the version", version, { ...EXAMPLE, lock: null })],
    errors: [...errors, "not_found"],
  },
  {
    method: "post",
    path: `${PATH}/rollback`,
    id: "rollBackTask",
    tag: TAG,
    summary: "Create a new version with the content of a kept one",
    token: "required",
    headers: ["If-Match", "If-None-Match"],
    body: { isRequired: true, content: jsonContent(rollBack, { version: 3 }) },
    answers: [one("the new version")],
    errors: [...changeErrors, "not_found"],
  },
];
