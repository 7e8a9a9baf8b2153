import { Problem } from "../../errors.ts";
import type { RunQuery } from "../../records/query.ts";
import type { RunRecord } from "../../records/record.ts";
import { visibleRecord } from "../../records/visible.ts";
import type { Caller } from "../../tokens/caller.ts";
import { containerName } from "../target.ts";
import { mustRead, seesTasks } from "./may-read.ts";
import { readParameters } from "./page-query.ts";
import {
  type Api,
  type ApiDependencies,
  authenticate,
  type Call,
  type Handler,
  jsonText,
  resource,
  segment,
  text,
} from "./route.ts";
import { followEvents } from "./run-events.ts";
import { readFailureQuery, readListQuery } from "./run-query.ts";
import { consoleNdjson, consoleText, entriesText, recordText } from "./run-texts.ts";

/** The indexes of these segments in `/api/runs/{container}/{run}`. */
const CONTAINER = 3;
const RUN = 4;
const OF_CONTAINER = "/api/runs/:container{[^/]*}";
const ONE = `${OF_CONTAINER}/:run{[^/]*}`;
const NDJSON = /\bapplication\/(?:x-ndjson|ndjson|jsonl)\b/i;

/** Further methods of the paths that `serveRuns` adds. */
export interface RunMethods {
  /** Of `/api/runs/{container}`. */
  readonly container?: Readonly<Record<string, Handler>>;
  /** Of `/api/runs/{container}/{run}`. */
  readonly run?: Readonly<Record<string, Handler>>;
}

/** Serves the records of runs. A token needs the verb `logs`, and sees the runs of its containers. */
export function serveRuns(api: Api, dependencies: ApiDependencies, methods: RunMethods = {}): void {
  resource(api, "/api/runs", { GET: listRuns(dependencies) });
  resource(api, OF_CONTAINER, { GET: listRunsOfContainer(dependencies), ...methods.container });
  // Must be added before the path of a run, which would read `events` as the id of a run.
  resource(api, `${OF_CONTAINER}/events`, { GET: followEvents(dependencies) });
  resource(api, ONE, { GET: getRun(dependencies), ...methods.run });
  resource(api, `${ONE}/console`, { GET: getConsole(dependencies) });
  resource(api, "/api/failures", { GET: listFailures(dependencies) });
}

function listRuns(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const by = await authenticate(call, dependencies);
    return runPage(readListQuery(call, null, by), by, dependencies);
  };
}

function listRunsOfContainer(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const by = await authenticate(call, dependencies);
    const container = containerName(segment(call, CONTAINER));
    return runPage(readListQuery(call, container, by), by, dependencies);
  };
}

async function runPage(query: RunQuery, { family }: Caller, { records }: ApiDependencies): Promise<Response> {
  const { runs, next, omitted, history } = await records.list(query, family);
  const { text: entries, count } = await entriesText(runs, ({ entry }) => entry(), family);
  const last = count < runs.length ? runs[count - 1]! : next;
  return listing("runs", entries, { next: last && `${last.startedMs}.${last.run}`, omitted, history });
}

function listFailures(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const by = await authenticate(call, dependencies);
    const query = readFailureQuery(call, by);
    const { groups, complete, history } = await dependencies.records.failures(query, by.family);
    const { text: entries, count } = await entriesText(groups, (group) => group, by.family);
    return listing("failures", entries, { complete: complete && count === groups.length, history });
  };
}

function listing(name: string, entries: string, more: object): Response {
  return jsonText(200, `{"${name}":${entries},${JSON.stringify(more).slice(1)}`);
}

function getRun(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const { record, by } = await findRun(call, dependencies);
    return jsonText(200, await recordText(record, by.family));
  };
}

function getConsole(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const { record, by } = await findRun(call, dependencies);
    const { accept = "" } = call.env.incoming.headers;
    if (NDJSON.test(accept)) return text(200, await consoleNdjson(record, by.family), "application/x-ndjson");
    return text(200, await consoleText(record, by.family), "text/plain; charset=utf-8");
  };
}

/** Returns the record of a path, as far as the caller may see it. */
async function findRun(call: Call, dependencies: ApiDependencies): Promise<{ record: RunRecord; by: Caller }> {
  const by = await authenticate(call, dependencies);
  const container = containerName(segment(call, CONTAINER));
  readParameters(call, []);
  mustRead(by, container);
  const found = await dependencies.records.get(container, segment(call, RUN), by.family);
  if (!found) throw new Problem("not_found", "no run with this id is kept here; its record may have been removed");
  return { record: visibleRecord(found.record, seesTasks(by)), by };
}
