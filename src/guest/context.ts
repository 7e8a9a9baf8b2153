import type { RunContext } from "../wire/messages.ts";
import { tellUnheard } from "./logs.ts";
import type { Run } from "./run.ts";

const { assign, create, keys } = Object;
const { isArray } = Array;
const Query = URLSearchParams;

/** What a task is given about its request. */
export interface TaskContext {
  runId: string;
  container: string;
  method: string;
  url: string;
  query: Record<string, string | string[]>;
  headers: Record<string, string>;
  body: unknown;
  params: Record<string, unknown>;
  secrets: Record<string, string>;
  /** The query, overlaid with an object body, overlaid with the token's params: what is trusted most wins. */
  data: Record<string, unknown>;
  readonly signal: AbortSignal;
  /** Keeps the run in its guest until this has settled, beyond the answer, at the longest until the deadline. */
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
    body: request.body,
    params,
    secrets: assign(bare<string>(), request.secrets),
    data: assign(bare<unknown>(), query, overlay(request), params),
    get signal() {
      return run.signal;
    },
    waitUntil: (work) => run.waitUntil(work, (error) => tellUnheard(run, "waitUntil", error)),
  };
}

/** Without a prototype, so that a parameter called `__proto__` or `constructor` is a value like any other. */
function bare<Value>(): Record<string, Value> {
  return create(null) as Record<string, Value>;
}

function queryOf(url: string): Record<string, string | string[]> {
  const query = bare<string | string[]>();
  const start = url.indexOf("?");
  if (start === -1) return query;
  const pairs = new Query(url.slice(start));
  pairs.forEach((value, name) => {
    const before = query[name];
    query[name] = before === undefined ? value : isArray(before) ? before.concat(value) : [before, value];
  });
  return query;
}

function overlay(request: RunContext): object | undefined {
  const { body } = request;
  return typeof body === "object" && body !== null && !isArray(body) && keys(body).length > 0 ? body : undefined;
}
