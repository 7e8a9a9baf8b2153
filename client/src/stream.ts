import type { AnsweredRunRecord } from "./api-types.ts";
import type { CaissonError } from "./error.ts";
import { errorOfRecord } from "./error.ts";
import { readEvents } from "./event-stream.ts";
import { valueOf } from "./result.ts";
import { type RecordOptions, runRequest, type Source } from "./run-request.ts";
import { withTaskHint } from "./task-hint.ts";
import type { Parameters, Transport } from "./transport.ts";

/** A line of the console. */
export type ConsoleLine = NonNullable<AnsweredRunRecord["console"]>[number];

/** What happens in a run: any number of lines, then the result or the error, and last the record. */
export type RunEvent<T = unknown> =
  | ({ readonly type: "console" } & Readonly<ConsoleLine>)
  | { readonly type: "result"; readonly value: T }
  | { readonly type: "error"; readonly error: CaissonError }
  | { readonly type: "record"; readonly record: AnsweredRunRecord };

/** Runs code, and returns its events as they come. A caller that stops reading cancels the run. */
export function streamRun<T>(
  transport: Transport,
  container: string,
  source: Source,
  options: RecordOptions,
): AsyncGenerator<RunEvent<T>, void, undefined> {
  const events = eventsOf<T>(transport, container, source, options);
  // A program without types would read undefined, or only that the value is not iterable.
  for (const name of OTHERS.split(" ")) Object.defineProperty(events, name, { get: refuse });
  return Object.defineProperty(events, Symbol.iterator, { value: refuse });
}

/** What a result, an event and a stream of Node have. */
const OTHERS = "value done result error record type status length on once addEventListener pipe getReader";

const refuse = (): never => {
  throw new TypeError("stream returns events: use for await (const event of caisson.stream(...))");
};

async function* eventsOf<T>(
  transport: Transport,
  container: string,
  source: Source,
  options: RecordOptions,
): AsyncGenerator<RunEvent<T>, void, undefined> {
  const parameters = runRequest(container, source, options) as Parameters;
  const headers = { ...parameters.headers, accept: "text/event-stream" };
  const response = await transport.send("POST /api/runs/{container}", { ...parameters, headers }, options);
  try {
    for await (const { name, data } of readEvents(response.body!)) {
      if (name === "console") yield { type: "console", ...(JSON.parse(data) as ConsoleLine) };
      if (name !== "record") continue;
      const record = withTaskHint(JSON.parse(data) as AnsweredRunRecord, container, source);
      yield outcomeOf<T>(record);
      yield { type: "record", record };
      return;
    }
    throw new Error("the connection ended before the run");
  } catch (error) {
    throw transport.failure(error, options.signal);
  }
}

/** The event `result` of the service has no head, so the outcome comes from the record, which follows at once. */
function outcomeOf<T>(record: AnsweredRunRecord): RunEvent<T> {
  const error = errorOfRecord(record);
  if (error) return { type: "error", error };
  try {
    return { type: "result", value: valueOf(record) as T };
  } catch (truncated) {
    return { type: "error", error: truncated as CaissonError };
  }
}
