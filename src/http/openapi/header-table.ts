import type { HeaderName, RequestHeader } from "./operation.ts";

type Header = { readonly description: string; readonly schema: object; readonly example?: unknown };

const text = { type: "string" };

/** The headers of every answer. */
const COMMON_HEADERS = [
  "Caisson-Version",
  "Access-Control-Allow-Origin",
  "Access-Control-Expose-Headers",
  "Cache-Control",
  "X-Content-Type-Options",
  "Referrer-Policy",
] as const;

export const HEADERS: Readonly<Record<string, Header>> = {
  Allow: { description: "the methods that apply", schema: text, example: "GET, POST, OPTIONS" },
  "Access-Control-Allow-Origin": { description: "any origin: a token is never a cookie", schema: text, example: "*" },
  "Access-Control-Expose-Headers": { description: "the headers that a page may read", schema: text },
  "Cache-Control": { description: "`no-store` but for keys and what a task sets", schema: text, example: "no-store" },
  "Caisson-Fault": {
    description: "the party at fault",
    schema: { enum: ["caller", "task", "limit", "service"] },
    example: "caller",
  },
  "Caisson-Hint": {
    description: "a sentence on an answer that is good, but probably not what the client meant",
    schema: text,
    example: "The code returned nothing: put return before its last statement, in line 2.",
  },
  "Caisson-Nodes": { description: "the nodes that a table covers", schema: text, example: "asked=2, answered=2" },
  "Caisson-Run": { description: "the id of the run", schema: text, example: "e506c653c0d4-2" },
  "Caisson-Truncated": { description: "`?1` if entries of a table were added up", schema: text, example: "?1" },
  "Caisson-Version": { description: "the version of the service", schema: text, example: "1.0.0" },
  "Content-Security-Policy": {
    description: "gives the page of a task no origin",
    schema: text,
    example: "sandbox allow-scripts allow-forms",
  },
  ETag: { description: "the version of the task (RFC 9110, section 8.8.3)", schema: text, example: '"3-9f86d081"' },
  RateLimit: { description: "what is left", schema: text, example: '"token-minute";r=59;t=60' },
  "RateLimit-Policy": { description: "the limits that apply", schema: text, example: '"token-minute";q=60;w=60' },
  "Referrer-Policy": { description: "`no-referrer`", schema: text, example: "no-referrer" },
  "Retry-After": { description: "seconds to wait", schema: { type: "integer" }, example: 1 },
  "Server-Timing": {
    description: "the time of each phase of the run",
    schema: text,
    example: 'queue;dur=0.21, start;dur=0.05;desc="warm", run;dur=0.60',
  },
  "WWW-Authenticate": { description: "the challenge (RFC 6750)", schema: text, example: 'Bearer realm="caisson"' },
  "X-Accel-Buffering": { description: "`no`: nginx must not buffer the stream", schema: text, example: "no" },
  "X-Content-Type-Options": { description: "`nosniff`", schema: text, example: "nosniff" },
};

export const REQUEST_HEADERS: Readonly<Record<RequestHeader, object>> = {
  Accept: parameter("Accept", "the wanted type of the answer", "application/json"),
  "If-Match": parameter("If-Match", "the ETag that the task must have", '"3-9f86d081"'),
  "If-None-Match": parameter("If-None-Match", "the ETag that the task must not have; `*`: it must not exist", "*"),
  "Last-Event-ID": parameter("Last-Event-ID", "the id of the last event that the client has", "17"),
  traceparent: parameter(
    "traceparent",
    "the trace of the request (W3C Trace Context)",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  ),
};

/** Returns references to the headers of every answer, and to further ones. */
export function headersOf(names: readonly HeaderName[]): Record<string, unknown> {
  return Object.fromEntries(
    [...COMMON_HEADERS, ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

function parameter(name: RequestHeader, description: string, example: string): object {
  return { name, in: "header", required: false, description, schema: { type: "string" }, example };
}
