import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

import type { IsolationGroup } from "../../containers/isolation-group.ts";
import { Problem } from "../../errors.ts";
import type { TaskRef } from "../../tasks/definition.ts";
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
import { namesOf, type RunCall } from "./run-call.ts";
import type { RunDependencies } from "./run-dependencies.ts";
import type { RunInput } from "./run-input.ts";
import { mustTakeRuns } from "./suspension.ts";
import { traceparentOf } from "./traceparent.ts";

/** A task that is run once, and the token of the request. */
export interface DryRun {
  readonly ref: TaskRef;
  readonly by: Caller;
  /** Reads the task from the body. */
  readonly readDraft: () => Promise<DraftTask>;
}

/** The record as JSON, and the headers of the run: name, value, name, value. */
export interface DryRunAnswer {
  readonly record: string;
  readonly headers: readonly string[];
}

/** The steps of each run. */
interface Steps {
  /** @throws {Problem} `container_limited`, `token_limited`, `store_unavailable` */
  readonly look: (call: RunCall) => Promise<void>;
  readonly begin: (call: RunCall, input: RunInput) => Promise<Execution>;
}

type Dependencies = Pick<RunDependencies, "config" | "log" | "policies" | "proxies" | "runIds" | "traces">;

/**
 * Runs a task once in an unused guest, without publishing it. The run is admitted and counted for the token of the request.
 *
 * @throws {Problem} if the token may not run code in the container, and if the run is not admitted
 */
export async function dryRun(
  request: IncomingMessage,
  response: ServerResponse,
  { ref: { container, name }, by, readDraft }: DryRun,
  dependencies: Dependencies,
  { look, begin }: Steps,
): Promise<DryRunAnswer> {
  const { config, policies, runIds, traces } = dependencies;
  authorize(by.claims, container);
  mustTakeRuns(container, policies);
  const answer = new RunAnswer(response, runIds.next(), by.memory.name, false, performance.now());
  const { resultLimit } = config;
  const options = readQueryOptions(new URLSearchParams(), resultLimit);
  // The caller sent the code.
  const view = { console: true, frame: true, message: true, use: true };
  const recorded = new RecordAnswer({ answer, options, view, holder: by.family, accept: undefined, resultLimit });
  const path = `/api/run/${container}/${name}`;
  const groupOf = ({ claims }: Caller): IsolationGroup => {
    return { isolationKey: `draft ${answer.run}`, fresh: true, net: claims.net };
  };
  const asked: RunCall = {
    ...{
      request,
      response,
      container,
      caller: by,
      bearer: by,
      draft: name,
      answer,
      recorded,
      memory: by.memory,
      network: null,
    },
    lock: null,
    headers: request.headers,
    ...{ target: { path, query: new URLSearchParams(), search: "" }, task: null, taskUrl: null, trace: null },
    ...{ secrets: null, pin: null, group: groupOf(by) },
    traceparent: traceparentOf(request.headers["traceparent"]),
    subject: await by.limitSubject(),
  };
  try {
    await look(asked);
  } catch (error) {
    // The admission decides whether runs go on without counts.
    if (asProblem(error).code !== "store_unavailable") throw refused(asked, error, dependencies);
  }
  const draft = await readDraft();
  const { caller, code } = draft;
  const call: RunCall = {
    ...asked,
    ...{ caller, pin: caller.claims.code, secrets: secretsOf(draft, by), group: groupOf(caller) },
  };
  const text = code && sourceOfTask(code);
  let outcome: Outcome | null = null;
  try {
    const { ranges, from } = draft;
    const input = { code: text, ranges, from, data: null, body: null, options: {}, kept: null };
    const execution = await begin(call, input);
    outcome = await execution.outcomeOrNone;
  } catch (error) {
    if (!call.trace) throw refused(call, error, dependencies);
    if (call.trace.sentMs === 0) traces.neverBegan(call.trace, asProblem(error));
  }
  return { record: await recorded.text(call.trace!, outcome), headers: answer.headersOfRun };
}

/** Counts and logs a dry run that was not admitted. @returns the error with the headers of the run */
function refused(call: RunCall, error: unknown, { log, proxies, traces }: Dependencies): unknown {
  traces.refused(call, asProblem(error));
  log.refusedRun(call.memory.name, namesOf(call), proxies.clientOf(call.request), error);
  const { code, message, options } = asProblem(error);
  const headers = { ...options.headers };
  const own = call.answer.headersOfRun;
  for (let index = 0; index < own.length; index += 2) headers[own[index]!] = own[index + 1]!;
  return new Problem(code, message, { ...options, headers, run: call.answer.run });
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
