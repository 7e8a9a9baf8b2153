import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

import type { Params } from "../../tokens/claims.ts";
import type { RunContext } from "../../wire/messages.ts";
import { holdsOwnToken, unescaped } from "../own-token.ts";
import { publicTarget, type Target } from "../target.ts";
import type { RunCall } from "./run-call.ts";

/** Request headers that a task never receives: credentials, and headers that proxies add, also with the URL of the request. */
const HIDDEN = /^(?:authorization|cookie|forwarded|proxy-.*|x-forwarded-.*|x-original-.*|x-envoy-.*|x-rewrite-ur[il])$/;
const HOLDS_KEY = /[?&]key=/i;

/**
 * Returns the payload of a run as JSON: its context, with its data and its secrets.
 *
 * @param data the data as JSON, or null
 * @param secrets the secrets as JSON, or null
 */
export function contextText(context: RunContext, data: string | null, secrets: string | null = null): string {
  const text = JSON.stringify(context);
  if (data === null && secrets === null) return text;
  const body = data === null ? "" : `,"body":${data}`;
  return `${text.slice(0, -1)}${body}${secrets === null ? "" : `,"secrets":${secrets}`}}`;
}

/**
 * Returns the facts about a request that its task receives.
 *
 * @param run `isPublic`: whether the task runs without a token, so that the credentials of the request are for the task.
 */
export function runContext(
  { method }: IncomingMessage,
  target: Target,
  run: {
    id: string;
    headers: IncomingHttpHeaders;
    container: string;
    origin: string;
    params: Params;
    traceparent: string | null;
    isPublic?: boolean;
  },
): RunContext {
  const { isPublic = false } = run;
  const context: RunContext = {
    runId: run.id,
    container: run.container,
    // HEAD is GET without a body (RFC 9110, section 9.3.2), and the service leaves the body out.
    method: method === "HEAD" ? "GET" : method!,
    url: run.origin + publicTarget(target, isPublic),
    headers: publicHeaders(run.headers),
  };
  const { authorization } = run.headers;
  if (isPublic && authorization !== undefined && !holdsOwnToken(authorization)) {
    context.headers["authorization"] = authorization;
  }
  if (Object.keys(run.params).length > 0) context.params = run.params;
  if (run.traceparent !== null) context.traceparent = run.traceparent;
  return context;
}

function publicHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const visible: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || HIDDEN.test(name)) continue;
    const text = String(value);
    if (name === "referer" && HOLDS_KEY.test(unescaped(text))) continue;
    visible[name] = text;
  }
  return visible;
}

/** The target that the task sees. The query of a recorded run belongs to the service, so the task has its own. */
export function targetOfTask({ target, container, task, draft, recorded }: RunCall): Target {
  if (!recorded || draft !== null) return target;
  const path = `/api/run/${container}${task ? `/${task.name}` : ""}`;
  const { query: search } = recorded.options;
  return { path, query: new URLSearchParams(search), search };
}
