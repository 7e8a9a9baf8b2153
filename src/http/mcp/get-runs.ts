import { z } from "zod";

import { Problem } from "../../errors.ts";
import { RecordReader } from "../../nodes/answers/run.ts";
import { runPages } from "../../nodes/answers/runs.ts";
import { readerOf } from "../../nodes/reader.ts";
import { RUN_STATUSES, type RunEntry, type RunStatus } from "../../records/record.ts";
import { visibleRecord } from "../../records/visible.ts";
import { mustRead, seesTasks } from "../api/may-read.ts";
import { askForRun, mergedOfAll } from "../api/node-reads.ts";
import { entryTexts, recordText } from "../api/run-texts.ts";
import { taskName } from "../target.ts";
import { cut } from "./cut.ts";
import type { McpCall } from "./mcp-call.ts";
import { MAX_TEXT_BYTES } from "./refused.ts";
import { textOf } from "./shown-record.ts";
import { separated } from "./structured-text.ts";
import type { OwnTool, ToolResult } from "./tool.ts";

interface Given {
  readonly run?: string;
  readonly status?: RunStatus;
  readonly task?: string;
  readonly q?: string;
  readonly limit?: number;
}

const MAX_RUNS = 50;
const DEFAULT_RUNS = 10;
const LIMIT = `must be a whole number from 1 to ${MAX_RUNS}`;
const FAILED =
  "There are no such runs. The status failed is a fault of the service; the failures of tasks are threw, timeout, blocked, stalled, memory, exited and syntax.";
/** The most characters that are searched for, as of `GET /api/runs`, which other nodes are asked. */
const MAX_TEXT_CHARS = 200;

/** Shows the latest runs, or the record of one. */
export const GET_RUNS: OwnTool<Given> = {
  name: "get_runs",
  title: "Read runs",
  verb: "logs",
  isReadOnly: true,
  schema: z.strictObject({
    run: z.string().optional().meta({ description: "the id of a run: shows only this run, with its console" }),
    status: z.enum(RUN_STATUSES, `must be one of ${RUN_STATUSES.join(", ")}`).optional(),
    task: z.string().optional().meta({ description: "only runs of this task" }),
    q: z
      .string()
      .max(MAX_TEXT_CHARS, `must have at most ${MAX_TEXT_CHARS} characters`)
      .optional()
      .meta({ description: "only runs with this text in their error or console" }),
    limit: z
      .int(LIMIT)
      .min(1, LIMIT)
      .max(MAX_RUNS, LIMIT)
      .optional()
      .meta({ description: `the most runs; default: ${DEFAULT_RUNS}` }),
  }),
  describe: () =>
    "Lists the latest runs of the container with their errors. With run, it shows one run with its console.",
  call: async ({ received, container, given }) => {
    mustRead(received.by, container);
    return given.run === undefined
      ? await listRuns(received, container, given)
      : await oneRun(received, container, given.run);
  },
};

async function listRuns(received: McpCall, container: string, given: Given): Promise<ToolResult> {
  const { by, records, nodes } = received;
  const { status, task, q = "", limit = DEFAULT_RUNS } = given;
  const query = {
    ...{
      container,
      task: task === undefined ? null : taskName(task),
      statuses: status === undefined ? null : [status],
    },
    ...{ sinceMs: null, untilMs: null, text: q || null, after: null, count: limit, permitted: [container] },
  };
  const search = new URLSearchParams({
    limit: String(limit),
    ...(status && { status }),
    ...(task && { task }),
    ...(q && { q }),
  });
  const target = `/api/runs/${encodeURIComponent(container)}?${search.toString()}`;
  const read = (): ReturnType<typeof records.list> => records.list(query, by.family);
  const { merged, count } = await mergedOfAll(nodes, readerFor(received), target, runPages(query), read);
  const all = merged.runs;
  const lines = all.length === 0 ? [status === "failed" ? FAILED : "There are no such runs."] : [];
  const write = ({ entry }: (typeof all)[number]): RunEntry => {
    const shown = entry();
    lines.push(line(shown));
    return shown;
  };
  const runs = await entryTexts(all, write, by.family);
  if (runs.length < all.length)
    lines.push(`${all.length - runs.length} further runs are too long for this answer: set limit to ${runs.length}.`);
  if (count.answered < count.asked) lines.push(`${count.asked - count.answered} nodes did not answer.`);
  const structuredTexts = ['{"runs":[', ...separated(runs), `],"nodes":${JSON.stringify(count)}}`];
  return { content: [{ type: "text", text: cut(lines.join("\n"), MAX_TEXT_BYTES) }], structuredTexts };
}

async function oneRun(received: McpCall, container: string, run: string): Promise<ToolResult> {
  const { by, records, config } = received;
  const found = await records.get(container, run, by.family);
  const reading = { by, reader: readerFor(received), isOfNode: false };
  const request = { method: "GET", container, run } as const;
  const record =
    found?.record ?? (await askForRun(received, reading, request, () => new RecordReader(container, run, config)));
  if (!record) throw noSuchRun();
  const shown = visibleRecord(record, seesTasks(by));
  // A record that is read later has no result.
  const text = shown.error === null ? textOf({ ...shown, result: "(results are not kept)" }) : textOf(shown);
  return { content: [{ type: "text", text }], structuredTexts: [await recordText(shown, by.family)] };
}

function noSuchRun(): Problem {
  return new Problem("not_found", "no run with this id is kept here; its record may have been removed", {
    hint: "get_runs without run lists the latest runs.",
  });
}

function readerFor({ by, nodes, proxies, call }: McpCall): ReturnType<typeof readerOf> {
  return readerOf(by, nodes === null ? "" : proxies.clientOf(call.env.incoming));
}

function line({ run, startedAt, task, status, error, ms }: RunEntry): string {
  const what = task === null ? "" : ` ${task}`;
  const time = ms.run === null ? "" : ` ${Math.round(ms.run)} ms`;
  if (error === null) return `${startedAt} ${run}${what} ${status}${time}`;
  const { code, name, message, at } = error;
  const where = at ? ` at ${at.file}:${at.line}:${at.column}` : "";
  return `${startedAt} ${run}${what} ${status}${time}: ${name ?? code}: ${cut(message, MAX_TEXT_CHARS)}${where}`;
}
