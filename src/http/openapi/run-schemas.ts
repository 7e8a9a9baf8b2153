import { z } from "zod";

import { RUN_STATUSES } from "../../records/record.ts";
import { HISTORIES } from "../../records/records.ts";
import { LOG_LEVELS } from "../../wire/messages.ts";
import { named } from "./operation.ts";
import { EXAMPLE_JTI, NEXT, NODES } from "./schemas.ts";

/** Schemas of run records, and of what is made from them. */

const line = z.object({
  atMs: z.number().meta({ description: "milliseconds since the guest received the run" }),
  level: z.enum(LOG_LEVELS),
  text: z.string(),
});
export const POSITION: z.ZodType = z.object({
  file: z.string(),
  line: z.int().min(1),
  column: z.int().min(1),
  frame: z.string().nullable().meta({ description: "the lines of code around the position" }),
});
const error = z.object({
  code: z.string().meta({ description: "a code of the page of errors" }),
  name: z.string().nullable(),
  message: z.string(),
  hint: z.string().nullable(),
  at: POSITION.nullable(),
  stack: z.string().nullable(),
});
const limit = z.object({
  limit: z.int(),
  remaining: z.int(),
  resetMs: z.number(),
  setBy: z.enum(["default", "policy", "token", "ancestor", "task"]),
});
const milliseconds = z.number().nonnegative().nullable();
const entry = {
  run: z.string(),
  container: z.string(),
  task: z.string().nullable(),
  version: z.int().nullable(),
  trigger: z.literal("call"),
  node: z.string(),
  token: z.string().nullable(),
  status: z.enum(RUN_STATUSES),
  resultType: z.string().nullable(),
  response: z.object({ status: z.int(), headers: z.record(z.string(), z.string()) }).nullable(),
  dropped: z.object({ lines: z.int(), bytes: z.int() }),
  error: error.nullable(),
  hint: z.string().nullable(),
  startedAt: z.iso.datetime(),
  ms: z.object({ queue: milliseconds, start: milliseconds, run: milliseconds }),
  start: z.enum(["warm", "new", "cold"]).nullable(),
  guest: z.object({
    cpuMs: z.number().nullable(),
    memoryPeakBytes: z.int().nullable(),
    concurrentRuns: z.int(),
  }),
  egress: z.object({ connections: z.int(), bytesSent: z.int(), bytesReceived: z.int(), refused: z.int() }),
  traceparent: z.string().nullable(),
  packages: z
    .object({ lock: z.string(), versions: z.record(z.string(), z.string()) })
    .exactOptional()
    .meta({ description: "the packages that the code imports, and the key of their lock" }),
  limits: z.object({ container: z.record(z.string(), limit), token: z.record(z.string(), limit) }),
};
const lines = z.array(line).nullable().meta({ description: "null if the caller may not see it" });
const input = z.string().exactOptional().meta({ description: 'the body, if the task says `record: "input"`' });

/** A client without a token, of a public task, sees nothing of the machine and of the tokens of the owner. */
const hiddenFromStrangers = {
  ...{ node: entry.node.nullable(), dropped: entry.dropped.nullable(), guest: entry.guest.nullable() },
  ...{ egress: entry.egress.nullable(), limits: entry.limits.nullable() },
};
export const RUN_RECORD: z.ZodType = named("RunRecord", z.object({ ...entry, console: lines, input }));
export const ANSWERED_RECORD: z.ZodType = named(
  "AnsweredRunRecord",
  z.object({
    ...entry,
    ...hiddenFromStrangers,
    console: lines,
    input,
    result: z.unknown().meta({ description: "the result; base64 if it is not JSON" }),
    resultEncoding: z.literal("base64").exactOptional(),
    resultTruncated: z.literal(true).exactOptional(),
  }),
);
const history = z.enum(HISTORIES).meta({ description: "whether the disk keeps records" });
export const RUN_PAGE_SCHEMA: z.ZodType = named(
  "RunPage",
  z.object({
    runs: z.array(z.object(entry)),
    next: NEXT,
    omitted: z.int().meta({ description: "runs that are in no answer, because their share of the disk was used up" }),
    history,
    nodes: NODES,
    hint: z.string().exactOptional().meta({ description: "what was probably meant, if the page has no runs" }),
  }),
);
export const FAILURE_GROUPS: z.ZodType = named(
  "FailureGroups",
  z.object({
    failures: z.array(
      z.object({
        container: z.string(),
        task: z.string().nullable(),
        code: z.string(),
        name: z.string().nullable(),
        frame: z.string().nullable(),
        message: z.string(),
        count: z.int().positive(),
        firstAt: z.iso.datetime(),
        lastAt: z.iso.datetime(),
        run: z.string().meta({ description: "the last run that failed so" }),
      }),
    ),
    next: NEXT.meta({
      description: "the cursor of the next page, whose groups have further counts of the same causes",
    }),
    complete: z.boolean().meta({ description: "whether the groups count all failures of the query" }),
    history,
    nodes: NODES,
  }),
);

export const EXAMPLE_ENTRY: Readonly<Record<string, unknown>> = {
  run: "e506c653c0d4-2",
  container: "acme",
  task: null,
  version: null,
  trigger: "call",
  node: "e506c653c0d4",
  token: EXAMPLE_JTI,
  status: "ok",
  resultType: "application/json",
  response: null,
  dropped: { lines: 0, bytes: 0 },
  error: null,
  hint: null,
  startedAt: "2026-11-23T10:00:00.000Z",
  ms: { queue: 0.2, start: 0.1, run: 0.6 },
  start: "warm",
  guest: { cpuMs: 0.4, memoryPeakBytes: 52_428_800, concurrentRuns: 0 },
  egress: { connections: 0, bytesSent: 0, bytesReceived: 0, refused: 0 },
  traceparent: null,
  limits: { container: {}, token: { minute: { limit: 60, remaining: 59, resetMs: 60_000, setBy: "token" } } },
};
const EXAMPLE_CONSOLE = [{ atMs: 0.1, level: "info", text: "hi" }];
export const EXAMPLE_RECORD: Readonly<Record<string, unknown>> = { ...EXAMPLE_ENTRY, console: EXAMPLE_CONSOLE };
