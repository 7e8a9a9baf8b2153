import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

import type { DraftTask } from "../../tasks/tasks.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { RunSecrets } from "../../tokens/secrets/vault.ts";
import { asProblem } from "../problem.ts";
import { sourceOfTask } from "../task-source.ts";
import type { Execution, Outcome } from "./execution.ts";
import { authorize } from "./may-run.ts";
import { RecordAnswer } from "./record-answer.ts";
import { readQueryOptions } from "./record-options.ts";
import { RunAnswer } from "./run-answer.ts";
import type { RunCall } from "./run-call.ts";
import type { RunDependencies } from "./run-dependencies.ts";
import type { RunInput } from "./run-input.ts";
import { mustTakeRuns } from "./suspension.ts";
import { traceparentOf } from "./traceparent.ts";

/**
 * Runs a task once in an unused guest, without publishing it. The run is admitted and counted for the token of the request.
 *
 * @returns the record as JSON
 * @throws {Problem} if the token may not run code in the container, and if the run is not admitted.
 */
export async function dryRun(
  request: IncomingMessage,
  response: ServerResponse,
  draft: DraftTask,
  by: Caller,
  { config, runIds, traces, policies }: Pick<RunDependencies, "config" | "runIds" | "traces" | "policies">,
  begin: (call: RunCall, input: RunInput) => Promise<Execution>,
): Promise<string> {
  const { container, name, caller, code } = draft;
  authorize(by.claims, container);
  mustTakeRuns(container, policies);
  const answer = new RunAnswer(response, runIds.next(), by.memory.name, false, performance.now());
  const { resultLimit } = config;
  const options = readQueryOptions(new URLSearchParams(), resultLimit);
  // The caller sent the code.
  const view = { console: true, frame: true, message: true, use: true };
  const recorded = new RecordAnswer({ answer, options, view, holder: by.family, accept: undefined, resultLimit });
  const secrets = secretsOf(draft, by);
  const path = `/api/run/${container}/${name}`;
  const call: RunCall = {
    ...{ request, response, container, caller, bearer: by, draft: name, answer, recorded, secrets, memory: by.memory },
    ...{ target: { path, query: new URLSearchParams(), search: "" }, task: null, taskUrl: null, trace: null },
    traceparent: traceparentOf(request.headers["traceparent"]),
    subject: await by.limitSubject(),
    group: { isolationKey: `draft ${answer.run}`, fresh: true, net: caller.claims.net },
    pin: caller.claims.code,
  };
  const text = code && sourceOfTask(code);
  let outcome: Outcome | null = null;
  try {
    const execution = await begin(call, {
      code: text,
      data: null,
      body: null,
      options: {},
      kept: null,
      release: () => {},
    });
    outcome = await execution.outcome;
  } catch (error) {
    if (!call.trace) throw error;
    if (call.trace.sentMs === 0) traces.neverBegan(call.trace, asProblem(error));
  }
  return await recorded.text(call.trace!, outcome);
}

function secretsOf({ secrets }: DraftTask, by: Caller): RunSecrets | null {
  const names = Object.keys(secrets);
  if (names.length === 0) return null;
  return {
    json: JSON.stringify(secrets),
    names,
    values: Object.values(secrets),
    version: randomUUID(),
    family: by.family,
  };
}
