import type { IncomingMessage, ServerResponse } from "node:http";

import { clientSite } from "../../client-site.ts";
import { building } from "../../packages/build-queue.ts";
import { mayHaveSecrets } from "../../tokens/secrets/vault.ts";
import { clientNetwork } from "../address.ts";
import { readCredential } from "../credential.ts";
import { containerName, holdsKey, type Target, taskUrl } from "../target.ts";
import { findTask, isBuilding, mustBeRunnable, type RunTarget, subjectOfTask, taskMeant } from "./find-task.ts";
import { headersOfTool } from "./input-of-tool.ts";
import { authorize, refuseAsSubresource } from "./may-run.ts";
import { RecordAnswer } from "./record-answer.ts";
import { readQueryOptions } from "./record-options.ts";
import { viewOf } from "./record-view.ts";
import { RunAnswer } from "./run-answer.ts";
import type { RunCall } from "./run-call.ts";
import type { RunDependencies } from "./run-dependencies.ts";
import { mustTakeRuns } from "./suspension.ts";
import { traceparentOf } from "./traceparent.ts";

const TIMEOUT_HINT = "The parameter timeout is for the task and ends no run: /api/runs/{container} takes a timeout.";

/** It is also for a task that does not exist, so it reveals nothing. */
const PUBLIC_ONLY =
  ' A named task answers without a token only if it is public: PUT /api/tasks/{container}/{name} with "public": true.';

type AuthorizeDependencies = Pick<
  RunDependencies,
  "config" | "tokens" | "tasks" | "authenticator" | "runIds" | "proxies" | "policies"
>;

/**
 * Step 1: authenticates the caller, reads the head of the request, and authorizes the run.
 *
 * @throws {Problem} in the order of these checks
 */
export async function authorizeRun(
  request: IncomingMessage,
  response: ServerResponse,
  target: Target,
  path: RunTarget,
  dependencies: AuthorizeDependencies,
): Promise<RunCall> {
  const arrivedMs = performance.now();
  const { config, tokens, tasks, authenticator, runIds, policies } = dependencies;
  const found = path.task === null ? null : await findTask(tasks, path);
  // A public task runs for every client: the credentials of the request are for the task.
  const credential = found?.public
    ? null
    : readCredential(request, target.query, config.queryKey, path.task === null ? "" : PUBLIC_ONLY);
  // The authenticator answers from its cache without a turn of the event loop.
  const verified = credential && authenticator.verify(credential.token, request);
  const bearer = verified instanceof Promise ? await verified : verified;
  if (bearer) tokens.uses.seen(bearer.claims);
  const container = containerName(path.container);
  const { resultLimit } = config;
  const options = path.isRecorded ? readQueryOptions(target.query, resultLimit) : null;
  const url = options ? null : taskUrl(target.query);
  refuseAsSubresource(request);
  if (bearer) authorize(bearer.claims, container);
  mustTakeRuns(container, policies);
  if (found === null && isBuilding(tasks, path))
    throw building("the packages of the task are being built, and then it is published");
  const near = path.task === null || found ? null : await taskMeant(tasks, bearer, container, path.task);
  const task = path.task === null ? null : mustBeRunnable(found, bearer, tokens.verifier, path, near);
  const caller = task?.caller ?? bearer!;
  const { claims } = caller;
  const network = bearer ? null : clientNetwork(dependencies.proxies.clientOf(request));
  // The memory of a request without a token belongs to the site of its client.
  const memory = bearer?.memory ?? { name: clientSite(network!), isPublic: true };
  const hasKey = target.search !== "" && holdsKey(target.query, bearer === null);
  const answer = new RunAnswer(response, runIds.next(), memory.name, hasKey, arrivedMs);
  if (target.search !== "" && task === null && options === null && target.query.has("timeout")) {
    answer.queryHint = TIMEOUT_HINT;
  }
  const counted = task ? subjectOfTask(task, bearer) : caller.limitSubject();
  const subject = counted instanceof Promise ? await counted : counted;
  const secrets = mayHaveSecrets(claims) ? await tokens.vault.of(task?.owner ?? claims) : null;
  const group = caller.isolationGroup(secrets?.version ?? null);
  const holder = memory.name;
  // A tool reads the record itself.
  const accept = path.isOfTool ? undefined : request.headers.accept;
  const view = viewOf(task, bearer);
  const recorded = options && new RecordAnswer({ answer, options, view, holder, accept, resultLimit });
  const headers = path.isOfTool ? headersOfTool(request.headers) : request.headers;
  const run = {
    request,
    response,
    target,
    headers,
    container,
    caller,
    bearer,
    task,
    draft: null,
    taskUrl: url,
    recorded,
  };
  const traceparent = traceparentOf(request.headers["traceparent"]);
  return {
    ...run,
    traceparent,
    subject,
    group,
    pin: claims.code,
    network,
    memory,
    secrets,
    answer,
    lock: null,
    trace: null,
  };
}
