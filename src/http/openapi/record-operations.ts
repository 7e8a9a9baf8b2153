import { z } from "zod";

import { ALL_RUNS_PAGE, AUDIT_PAGE, FAILURES, RUN_PAGE, USAGE } from "../api/queries.ts";
import { named, ok, type Operation, type SuccessAnswer, TOKEN_ERRORS } from "./operation.ts";
import { EXAMPLE_ENTRY, EXAMPLE_RECORD, FAILURE_GROUPS, RUN_PAGE_SCHEMA, RUN_RECORD } from "./run-schemas.ts";
import { EXAMPLE_JTI, NEXT, NODES } from "./schemas.ts";

const TAG = "Records";
const EXAMPLE_NODES = { asked: 1, answered: 1 };

const lines = named("Lines", z.string());
const cancelled = named("CancelledRun", z.object({ run: z.string(), status: z.literal("cancelled") }));
const counts = z.record(z.string(), z.number().nonnegative());
const usage = named(
  "Usage",
  z.object({
    usage: z.array(
      z.object({
        container: z.string(),
        task: z.string().nullable().exactOptional(),
        token: z.string().nullable().exactOptional(),
        from: z.iso.datetime().meta({ description: "the start of the step" }),
        runs: counts.meta({ description: "runs by status" }),
        refused: counts.meta({ description: "refused requests by error code" }),
        cpuMs: z.number(),
        runMs: z.number(),
        egressBytes: z.number(),
        durations: counts.meta({ description: "ended runs by duration: the name is the upper bound in milliseconds" }),
      }),
    ),
    truncated: z.boolean().meta({ description: "whether entries were added up as `(other)`, for want of places" }),
    nodes: NODES,
  }),
);
const audit = named(
  "AuditPage",
  z.object({
    entries: z.array(
      z.object({
        at: z.iso.datetime(),
        action: z.string(),
        by: z.string().nullable().meta({ description: "the `jti` of the token that changed it" }),
        client: z.string().nullable().meta({ description: "the address of the client" }),
        details: z.record(z.string(), z.unknown()),
      }),
    ),
    next: NEXT,
    nodes: NODES,
  }),
);

const EXAMPLE_USAGE = { usage: [], truncated: false, nodes: EXAMPLE_NODES };

const listErrors = [...TOKEN_ERRORS, "container_invalid", "container_busy", "overloaded"] as const;
const runErrors = [...listErrors, "not_found", "node_unavailable"] as const;
const EVENTS: SuccessAnswer = {
  status: 200,
  description: "events `console` and `record`, until the token ends",
  content: [{ type: "text/event-stream", schema: lines, example: "id: 1\nevent: record\ndata: ...\n\n" }],
  headers: ["X-Accel-Buffering"],
};
const EXAMPLE_PAGE = { runs: [EXAMPLE_ENTRY], next: null, omitted: 0, history: "kept", nodes: EXAMPLE_NODES };

export const RECORD_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/api/runs",
    id: "listRuns",
    tag: TAG,
    summary: "List the runs of all containers of the token, the newest first",
    token: "required",
    query: ALL_RUNS_PAGE,
    answers: [{ ...ok("a page of runs", RUN_PAGE_SCHEMA, EXAMPLE_PAGE), headers: ["Caisson-Hint"] }],
    errors: listErrors,
  },
  {
    method: "get",
    path: "/api/runs/{container}",
    id: "listRunsOfContainer",
    tag: TAG,
    summary: "List the runs of a container, the newest first",
    token: "required",
    query: RUN_PAGE,
    answers: [{ ...ok("a page of runs", RUN_PAGE_SCHEMA, EXAMPLE_PAGE), headers: ["Caisson-Hint"] }],
    errors: listErrors,
  },
  {
    method: "get",
    path: "/api/events",
    id: "followAllRuns",
    tag: TAG,
    summary: "Follow the console lines and the ends of runs of all containers of the token, as server-sent events",
    token: "required",
    headers: ["Last-Event-ID"],
    answers: [EVENTS],
    errors: [...TOKEN_ERRORS, "container_busy", "overloaded"],
  },
  {
    method: "get",
    path: "/api/runs/{container}/events",
    id: "followRuns",
    tag: TAG,
    summary: "Follow the console lines and the ends of runs of a container, as server-sent events",
    token: "required",
    headers: ["Last-Event-ID"],
    answers: [EVENTS],
    errors: listErrors,
  },
  {
    method: "get",
    path: "/api/runs/{container}/{run}",
    id: "getRun",
    tag: TAG,
    summary: "Read the record of a run",
    token: "required",
    answers: [ok("the record", RUN_RECORD, EXAMPLE_RECORD)],
    errors: runErrors,
  },
  {
    method: "delete",
    path: "/api/runs/{container}/{run}",
    id: "cancelRun",
    tag: TAG,
    summary: "Cancel a run of the token, or of a token below it",
    token: "required",
    answers: [ok("the run is cancelled", cancelled, { run: "e506c653c0d4-2", status: "cancelled" })],
    errors: runErrors,
  },
  {
    method: "get",
    path: "/api/runs/{container}/{run}/console",
    id: "getConsole",
    tag: TAG,
    summary: "Read the console of a run",
    token: "required",
    headers: ["Accept"],
    answers: [
      {
        status: 200,
        description: "the lines as text, or each as JSON with `Accept: application/x-ndjson`",
        content: [
          { type: "text/plain", schema: lines, example: "hi\n" },
          { type: "application/x-ndjson", schema: lines, example: '{"atMs":0.1,"level":"info","text":"hi"}\n' },
        ],
      },
    ],
    errors: runErrors,
  },
  {
    method: "get",
    path: "/api/failures",
    id: "listFailures",
    tag: TAG,
    summary: "Group the failures of the containers of the token by their cause",
    token: "required",
    query: FAILURES,
    answers: [
      ok("the groups, the latest first", FAILURE_GROUPS, {
        failures: [],
        next: null,
        complete: true,
        history: "kept",
        nodes: EXAMPLE_NODES,
      }),
    ],
    errors: listErrors,
  },
  {
    method: "get",
    path: "/api/usage",
    id: "getUsage",
    tag: TAG,
    summary: "Count runs, processor time and bytes over time",
    token: "required",
    query: USAGE,
    headers: ["Accept"],
    answers: [
      {
        ...ok("the counts; as a table with `Accept: text/csv`", usage, EXAMPLE_USAGE),
        content: [
          { type: "application/json", schema: usage, example: EXAMPLE_USAGE },
          { type: "text/csv", schema: lines, example: "container,from,...\r\n" },
        ],
        headers: ["Caisson-Nodes", "Caisson-Truncated"],
      },
    ],
    errors: listErrors,
  },
  {
    method: "get",
    path: "/api/audit",
    id: "listAudit",
    tag: TAG,
    summary: "List the changes, the newest first, as an administrator",
    token: "required",
    query: AUDIT_PAGE,
    answers: [
      ok("a page of entries", audit, {
        entries: [
          {
            at: "2026-11-23T10:00:00.000Z",
            action: "token issued",
            by: EXAMPLE_JTI,
            client: "127.0.0.1",
            details: { token: EXAMPLE_JTI },
          },
        ],
        next: null,
        nodes: EXAMPLE_NODES,
      }),
    ],
    errors: listErrors,
  },
];
