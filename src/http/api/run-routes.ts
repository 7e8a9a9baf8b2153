import { Problem } from "../../errors.ts";
import { failureGroups } from "../../nodes/answers/failures.ts";
import { RecordReader, writeRecord } from "../../nodes/answers/run.ts";
import { runPages } from "../../nodes/answers/runs.ts";
import type { NodeCount } from "../../nodes/nodes.ts";
import type { RunQuery } from "../../records/query.ts";
import type { RunRecord } from "../../records/record.ts";
import type { Failures, RunPage } from "../../records/records.ts";
import { visibleRecord } from "../../records/visible.ts";
import { isRunId } from "../../telemetry/run-ids.ts";
import { containerName } from "../target.ts";
import { mustRead, seesTasks } from "./may-read.ts";
import { answerOfAll, askForRun, authenticateReading, nodeAnswer, type Reading } from "./node-reads.ts";
import { ALL_RUNS_PAGE, FAILURES, RUN_PAGE } from "./queries.ts";
import { type Api, type ApiDependencies, type Call, type Handler, jsonText, resource, segment, text } from "./route.ts";
import { followEvents } from "./run-events.ts";
import { readFailureQuery, readListQuery, targetOfFailures, textOf, untilTime } from "./run-query.ts";
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
  resource(api, "/api/runs", { GET: listRuns(dependencies) }, { GET: ALL_RUNS_PAGE });
  resource(api, OF_CONTAINER, { GET: listRunsOfContainer(dependencies), ...methods.container }, { GET: RUN_PAGE });
  const events = followEvents(dependencies);
  resource(api, "/api/events", { GET: events.ofAll });
  // Must be added before the path of a run, which would read `events` as the id of a run.
  resource(api, `${OF_CONTAINER}/events`, { GET: events.ofContainer });
  resource(api, ONE, { GET: getRun(dependencies), ...methods.run });
  resource(api, `${ONE}/console`, { GET: getConsole(dependencies) });
  resource(api, "/api/failures", { GET: listFailures(dependencies) }, { GET: FAILURES });
}

function listRuns(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const reading = await authenticateReading(call, dependencies);
    return runPage(call, readListQuery(call, null, reading.by), reading, dependencies);
  };
}

/** A container usually runs on one node, but on another while its node is away. So this list asks all nodes, too. */
function listRunsOfContainer(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const reading = await authenticateReading(call, dependencies);
    const container = containerName(segment(call, CONTAINER));
    return runPage(call, readListQuery(call, container, reading.by), reading, dependencies);
  };
}

function runPage(call: Call, query: RunQuery, reading: Reading, dependencies: ApiDependencies): Promise<Response> {
  const { family } = reading.by;
  const read = (): Promise<RunPage> => dependencies.records.list(query, family);
  return answerOfAll(call, dependencies, reading, runPages(query), read, async (page, nodes) => {
    const { runs, next, omitted, history } = page;
    const { text: entries, count } = await entriesText(runs, ({ entry }) => entry(), family);
    const last = count < runs.length ? runs[count - 1]! : next;
    const isWhole = omitted === 0 && !FILTERED.test(call.env.incoming.url!);
    const hint = runs.length === 0 ? await hintOfNone(query, isWhole, dependencies) : null;
    const more = { next: last && textOf(last), omitted, history, nodes, ...(hint !== null && { hint }) };
    return listing("runs", entries, more, hint === null ? [] : ["Caisson-Hint", hint]);
  });
}

function listFailures(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const reading = await authenticateReading(call, dependencies);
    const { family } = reading.by;
    const query = readFailureQuery(call, reading.by);
    const read = (selected: RunQuery) => (): Promise<Failures> => dependencies.records.failures(selected, family);
    const write = async (failures: Failures, nodes: NodeCount): Promise<Response> => {
      const { groups, history, next } = failures;
      const { text: entries, count } = await entriesText(groups, (group) => group, family);
      const complete = failures.complete && count === groups.length && nodes.answered === nodes.asked;
      return listing("failures", entries, { next: next && textOf(next), complete, history, nodes });
    };
    const kind = failureGroups(query);
    return answerOfAll(call, dependencies, reading, kind, read(query), (failures, nodes) => {
      // The nodes have counted to different times. They count again, all of them to the time that each has reached.
      const page = nodes.answered > 1 && failures.next ? untilTime(query, failures.next) : null;
      if (page === null) return write(failures, nodes);
      const again = (counted: Failures, count: NodeCount): Promise<Response> =>
        write({ ...counted, complete: false, next: counted.next ?? page.next }, count);
      return answerOfAll(call, dependencies, reading, kind, read(page.query), again, targetOfFailures(page.query));
    });
  };
}

/** The hint for a client that probably looks for all runs that failed. */
const FAILED =
  "The status failed is a fault of the service. The failures of tasks are threw, called_back, timeout, blocked, stalled, memory, exited, syntax, unserializable, too_large and refused. GET /api/failures has all failures.";

/** A parameter of a list of runs that leaves runs out. */
const FILTERED = /[?&](?!(?:limit|key)=)./;
const UNKNOWN =
  "The container has no task, no policy and no run on record: check its name, which is case-sensitive. GET /api/runs lists the runs of all containers.";

/**
 * Returns the hint for a list without entries that a client probably did not mean.
 *
 * @param isWhole whether the list would have any run of its container
 */
async function hintOfNone(
  { statuses, container }: RunQuery,
  isWhole: boolean,
  dependencies: ApiDependencies,
): Promise<string | null> {
  if (statuses?.length === 1 && statuses[0] === "failed") return FAILED;
  if (container === "events")
    return "GET /api/events follows all runs, and GET /api/runs/{container}/events those of a container.";
  if (container === null) return null;
  if (!isRunId(container)) return isWhole && (await isUnknown(container, dependencies)) ? UNKNOWN : null;
  return "This is the id of a run: GET /api/runs/{container}/{run} returns its record.";
}

async function isUnknown(container: string, { policies, tasks }: ApiDependencies): Promise<boolean> {
  return policies.get(container) === undefined && (await tasks.list(container, "", 1)).length === 0;
}

function listing(name: string, entries: string, more: object, headers: readonly string[] = []): Response {
  return jsonText(200, `{"${name}":${entries},${JSON.stringify(more).slice(1)}`, headers);
}

function getRun(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const { record, reading } = await findRun(call, dependencies);
    const { family } = reading.by;
    if (reading.isOfNode) return nodeAnswer(await writeRecord(record, family));
    return jsonText(200, await recordText(record, family));
  };
}

function getConsole(dependencies: ApiDependencies): Handler {
  return async (call) => {
    const { record, reading } = await findRun(call, dependencies);
    const { family } = reading.by;
    const { accept = "" } = call.env.incoming.headers;
    if (NDJSON.test(accept)) return text(200, await consoleNdjson(record, family), "application/x-ndjson");
    return text(200, await consoleText(record, family), "text/plain; charset=utf-8");
  };
}

const NO_RUN =
  "GET /api/runs/{container} lists the runs that are kept. The header Caisson-Run of an answer has the id of its run.";
const NOT_AN_ID = "The path has no id of a run. POST /api/run/{container}/{name} runs a task.";

/** Returns the record of a path, as far as the caller may see it, from this node or from another one. */
async function findRun(call: Call, dependencies: ApiDependencies): Promise<{ record: RunRecord; reading: Reading }> {
  const reading = await authenticateReading(call, dependencies);
  const { by } = reading;
  const container = containerName(segment(call, CONTAINER));
  const run = segment(call, RUN);
  mustRead(by, container);
  const found = await dependencies.records.get(container, run, by.family);
  const request = { method: "GET", container, run } as const;
  const record =
    found?.record ??
    (await askForRun(dependencies, reading, request, () => new RecordReader(container, run, dependencies.config)));
  if (!record) {
    throw new Problem("not_found", "no run with this id is kept here; its record may have been removed", {
      hint: isRunId(run) ? NO_RUN : `${NOT_AN_ID} ${NO_RUN}`,
    });
  }
  return { record: visibleRecord(record, seesTasks(by)), reading };
}
