import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";

/** The members of `context`, with what they hold. */
const CONTEXT: Readonly<Record<string, string>> = {
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
};
const MODULES: readonly string[] = [
  ...["assert", "buffer", "crypto", "events", "fs/promises", "http", "https", "path", "querystring", "stream"],
  ...["string_decoder", "timers/promises", "url", "util", "zlib"],
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
