import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";

/** The members of `context`, with what they hold. */
export const CONTEXT: Readonly<Record<string, string>> = {
  body: "the body of the request, parsed if it is JSON or a form",
  container: "the name of the container",
  data: "the query, with the members of the body and of the params",
  headers: "the headers of the request",
  method: "the method of the request",
  params: "values of the token or of the task",
  query: "the query of the request",
  runId: "the id of this run",
  secrets: "credentials of the token or of the task",
  signal: "aborts at the deadline, and when the client leaves",
  traceparent: "the trace of the request",
  url: "the URL of the request",
  waitUntil: "keeps the run in its guest after the answer, until a promise has settled",
};
/** The modules of Node that are of use to a task. */
export const MODULES: readonly string[] = [
  ...["assert", "assert/strict", "async_hooks", "buffer", "console", "crypto", "diagnostics_channel", "dns"],
  ...["dns/promises", "events", "fs", "fs/promises", "http", "https", "module", "net", "os", "path", "path/posix"],
  ...["perf_hooks", "process", "querystring", "readline", "readline/promises", "stream", "stream/consumers"],
  ...["stream/promises", "stream/web", "string_decoder", "timers", "timers/promises", "tls", "url", "util"],
  ...["util/types", "v8", "vm", "worker_threads", "zlib"],
];

/** Completes the members of `context` and the names of Node's modules. */
export function completeNames(context: CompletionContext): CompletionResult | null {
  const member = context.matchBefore(/\bcontext\.\w*/);
  if (member) {
    const options = Object.entries(CONTEXT).map(([label, info]) => ({ label, info, type: "property" }));
    return { from: member.from + "context.".length, options };
  }
  const module = context.matchBefore(/["']node:[\w/]*/);
  if (!module) return null;
  return { from: module.from + 1, options: MODULES.map((name) => ({ label: `node:${name}`, type: "namespace" })) };
}
