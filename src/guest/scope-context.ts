import { contextOf, type TaskContext } from "./context.ts";
import { currentRun } from "./current-run.ts";
import type { Run } from "./run.ts";

const NativeError = Error;

/** The word as a separate name, and not as a member of something; `...context` is not a member. */
const WORD = /(?<![\w$#]|(?<!\.\.)\.)context(?![\w$])/;
/** A hoisted declaration would share the parameter. V8 rejects the others. */
const HOISTED = /\b(?:var|function)\s+context\b/;
/** A parameter of a function in the text. */
const PARAMETER = /\bcontext\s*=>|[(,]\s*context\s*(?:[,=:][^()]{0,200})?\)\s*(?:=>|\{|:)/;

/** Whether a text may use the `context` in scope. */
export function mayUseContext(text: string): boolean {
  return text.includes("context") && WORD.test(text) && !HOISTED.test(text);
}

/**
 * Whether a text probably uses the `context` in scope, and not only a parameter of this name. The body of the request is then
 * read before the text is evaluated. A handler that streams the body has it in a parameter.
 */
export function probablyUsesContext(text: string): boolean {
  return !PARAMETER.test(text);
}

/**
 * Returns the `context` in the scope of an expression or a body. Its members are those of the run that executes, also in a
 * function that the text has exported and that later runs call.
 */
export function scopeContext(): TaskContext {
  return {
    get runId() {
      return own(run()).runId;
    },
    get container() {
      return own(run()).container;
    },
    get method() {
      return own(run()).method;
    },
    get url() {
      return own(run()).url;
    },
    get query() {
      return own(run()).query;
    },
    get headers() {
      return own(run()).headers;
    },
    get traceparent() {
      return own(run()).traceparent;
    },
    get body() {
      return own(withBody(run())).body;
    },
    get params() {
      return own(run()).params;
    },
    get secrets() {
      return own(run()).secrets;
    },
    get data() {
      return own(withBody(run())).data;
    },
    get signal() {
      return run().signal;
    },
    waitUntil: (work) => own(run()).waitUntil(work),
  };
}

function run(): Run {
  const current = currentRun();
  if (!current) throw new NativeError("context is only available while a run executes");
  return current;
}

function own(current: Run): TaskContext {
  return (current.context ??= contextOf(current)) as TaskContext;
}

/** A body that is streamed to a handler is not in the context. */
function withBody(current: Run): Run {
  if (!current.requestBody || current.rawBody) return current;
  throw new NativeError(
    "the body of the request is not read yet: take context as a parameter of the exported function",
  );
}
