import type { RunContext } from "../wire/messages.ts";
import { reportLateError } from "./logs.ts";
import type { Run } from "./run.ts";

const { assign, create } = Object;
const { isArray } = Array;
const Query = URLSearchParams;

/** The description of the request that a task receives. */
export interface TaskContext {
  runId: string;
  container: string;
  method: string;
  url: string;
  query: Record<string, string | string[]>;
  headers: Record<string, string>;
  /** The trace that the request belongs to (W3C Trace Context); null if it belongs to none. */
  traceparent: string | null;
  body: unknown;
  params: Record<string, unknown>;
  secrets: Record<string, string>;
  /** The members of the query, of an object body and of the token's params. The later, more trusted source wins. */
  data: Record<string, unknown>;
  readonly signal: AbortSignal;
  /** Keeps the run in its guest after its result until `work` has settled, at most until the deadline. */
  waitUntil: (work: unknown) => void;
}

/** Makes the context of one run. */
export function contextOf(run: Run): TaskContext {
  const request = run.request();
  const query = queryOf(request.url);
  const params = assign(bare<unknown>(), request.params);
  return {
    runId: request.runId,
    container: request.container,
    method: request.method,
    url: request.url,
    query,
    headers: request.headers,
    traceparent: request.traceparent ?? null,
    body: request.body,
    params,
    secrets: assign(bare<string>(), request.secrets),
    data: assign(bare<unknown>(), query, overlay(request), params),
    get signal() {
      return run.signal;
    },
    waitUntil: (work) => run.waitUntil(work, (error) => reportLateError(run, "waitUntil", error)),
  };
}

/** Makes an object without a prototype, so that a parameter called `__proto__` or `constructor` is an ordinary value. */
function bare<Value>(): Record<string, Value> {
  return create(null) as Record<string, Value>;
}

function queryOf(url: string): Record<string, string | string[]> {
  const query = bare<string | string[]>();
  const start = url.indexOf("?");
  if (start === -1) return query;
  const pairs = new Query(url.slice(start));
  pairs.forEach((value, name) => {
    const previous = query[name];
    if (previous === undefined) query[name] = value;
    // Not by a copy: the thousands of values of one name would take the time of all other runs in the guest.
    else if (isArray(previous)) previous[previous.length] = value;
    else query[name] = [previous, value];
  });
  return query;
}

function overlay(request: RunContext): object | undefined {
  const { body } = request;
  return typeof body === "object" && body !== null && !isArray(body) ? body : undefined;
}
