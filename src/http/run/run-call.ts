import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";

import type { IsolationGroup } from "../../containers/isolation-group.ts";
import type { LimitSubject } from "../../limits/limit-subject.ts";
import type { Lock } from "../../packages/model.ts";
import type { Task } from "../../tasks/task.ts";
import type { RunNames } from "../../telemetry/log.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { Pin } from "../../tokens/claims.ts";
import type { RunSecrets } from "../../tokens/secrets/vault.ts";
import type { MemoryOwner } from "../bodies.ts";
import type { Target } from "../target.ts";
import type { RecordAnswer } from "./record-answer.ts";
import type { RunAnswer } from "./run-answer.ts";
import type { RunTrace } from "./run-trace.ts";

/** A request whose token may run code in its container. */
export interface RunCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  /** The headers that the task may see. */
  readonly headers: IncomingHttpHeaders;
  readonly container: string;
  /** The token that the code runs under: the token of the request, or the token of the named task. */
  readonly caller: Caller;
  /** The token of the request; null when a public task runs without a token. */
  readonly bearer: Caller | null;
  readonly task: Task | null;
  /** The name of a task that is run once and not published, or null. */
  readonly draft: string | null;
  readonly taskUrl: string | null;
  /** The trace that the caller's request belongs to, or null. */
  readonly traceparent: string | null;
  readonly subject: LimitSubject;
  readonly group: IsolationGroup;
  /** The only code that the token may run, or null. */
  readonly pin: Pin | null;
  /** The network of a client without a token; null if the client has a token. */
  readonly network: string | null;
  /** The owner of the memory that the body and the answer take. */
  readonly memory: MemoryOwner;
  /** The secrets that the service passes to this code and to no other. */
  readonly secrets: RunSecrets | null;
  readonly answer: RunAnswer;
  /** Answers with the record of the run; null for `/api/run`. */
  readonly recorded: RecordAnswer | null;
  /** The lock of the packages that the code imports; null if there are none, or before they are found. */
  lock: Lock | null;
  /** What happened in the run; null before its admission. */
  trace: RunTrace | null;
}

/** Whether a public task runs, so that all credentials of the request are for the task. */
export function isPublic({ bearer }: Pick<RunCall, "bearer">): boolean {
  return bearer === null;
}

/** The names of the run in the log. */
export function namesOf({ answer, container, task, draft, subject, traceparent }: RunCall): RunNames {
  const name = task?.name ?? draft;
  return {
    run: answer.run,
    container,
    ...(name !== null && { task: name }),
    jti: subject.jti,
    ...(traceparent !== null && { traceparent }),
  };
}

/** The tokens that the run is counted for. */
export function callersOf({ caller, bearer, draft }: RunCall): Caller[] {
  if (bearer === null || bearer === caller) return [caller];
  // The token of a draft is never stored.
  return draft === null ? [caller, bearer] : [bearer];
}
