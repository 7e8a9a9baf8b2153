import { Problem } from "../../errors.ts";
import { type HeadMessage, LOG_LEVELS } from "../../wire/messages.ts";
import type { RunObserver } from "./execution.ts";
import { LogFileSink } from "./log-sink.ts";
import { redactionOf } from "./redactions.ts";
import { allowedHeaders } from "./response-headers.ts";
import { isPublic, namesOf, type RunCall } from "./run-call.ts";
import type { RunDependencies } from "./run-dependencies.ts";
import type { RunTrace } from "./run-trace.ts";

const JSON_TYPE = "application/json";
const WARN = LOG_LEVELS.indexOf("warn");

/**
 * Returns the observer that logs a run and fills its trace, without the secrets of the run. It outlives the request, so it
 * keeps only names from it.
 *
 * @param over is called once, when the guest is done with the run.
 */
export function observeRun(
  call: RunCall,
  trace: RunTrace,
  { log, proxies, runCounts, records }: Pick<RunDependencies, "log" | "proxies" | "runCounts" | "records">,
  over: () => void,
): RunObserver {
  const { request, secrets, recorded } = call;
  const names = namesOf(call);
  const client = proxies.clientOf(request);
  const logSink = new LogFileSink({ log, counts: runCounts, records, names, secrets }, { trace, recorded });
  const isTaskPublic = isPublic(call);
  let type = JSON_TYPE;
  return {
    over: () => {
      // Neither an answer nor an error: the client has left.
      if (trace.status === "running") trace.failed(CLIENT_LEFT);
      over();
      logSink.end();
    },
    responded: ({ status, headers }: HeadMessage, isOfHandler) => {
      const allowed = allowedHeaders(headers, isOfHandler && isTaskPublic);
      const shown = secrets ? allowed.map((text) => redactionOf(secrets).text(text)) : allowed;
      type = contentTypeOf(shown);
      trace.responded(status, shown);
    },
    hinted: (hint) => {
      trace.hinted(hint);
      log.task(names, WARN, () => hint);
    },
    succeeded: () => trace.succeeded(type),
    failed: (problem, isCut) => {
      const error = secrets ? redactionOf(secrets).problem(problem) : problem;
      trace.failed(error);
      if (isCut) log.run(names, client, error);
    },
    refused: (refusal) => {
      log.refused(names, secrets ? redactionOf(secrets).value(refusal) : refusal);
    },
    usesEgress: (use) => (trace.egress = use),
    logSink,
  };
}

const CLIENT_LEFT = new Problem("run_cancelled", "the client disconnected before it had the whole answer");

function contentTypeOf(headers: readonly string[]): string {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name === "content-type");
  return at < 0 ? "application/octet-stream" : headers[at + 1]!;
}
