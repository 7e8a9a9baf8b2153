import { contextOf, type TaskContext } from "../context.ts";
import type { RequestBody } from "../request-body.ts";
import { answerResponse } from "../result.ts";
import type { Run } from "../run.ts";
import type { Shape } from "./shape.ts";

const NativeStream = ReadableStream;

export interface FetchHandler {
  fetch: (request: Request, env: object, ctx: object) => unknown;
}

/** Whether a value is an object with `fetch`. */
export function isFetchHandler(value: unknown): value is FetchHandler {
  return typeof value === "object" && value !== null && typeof (value as { fetch?: unknown }).fetch === "function";
}

/** The shape of an object whose `fetch` answers a `Request` with a `Response`. */
export function fetchShape(handler: FetchHandler): Shape {
  return {
    needsContext: true,
    answersBy: "fetch",
    streamsBody: () => true,
    run: (run) => {
      const context = contextOf(run);
      const env = Object.assign(Object.create(null) as object, context.params, context.secrets);
      const request = requestOf(context, run);
      // Node aborts the signal of a request only as long as something refers to the request.
      run.held = request;
      answerResponse(run, handler.fetch(request, env, { waitUntil: context.waitUntil }));
    },
  };
}

function requestOf(context: TaskContext, run: Run): Request {
  const { method, url, headers, body, signal } = context;
  const mayHaveBody = method !== "GET" && method !== "HEAD";
  const { requestBody, rawBody } = run;
  if (requestBody && mayHaveBody) {
    // Text that has the context in its scope is evaluated after the body was read.
    const streamed = (rawBody && requestBody.take()) ?? streamOf(requestBody);
    // The fetch standard requires `duplex` for a stream body. The type of `RequestInit` lacks it.
    const init = { method, headers, signal, body: streamed, duplex: "half" } as RequestInit;
    return new Request(url, init);
  }
  const bodiless = body === undefined || !mayHaveBody;
  return new Request(url, { method, headers, signal, body: bodiless ? null : bodyOf(body, headers["content-type"]) });
}

/** Makes a stream that reads a piece only when the task reads it. */
function streamOf(streamed: RequestBody): ReadableStream {
  return new NativeStream(
    {
      pull: async (controller) => {
        const piece = await streamed.read();
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Encodes a body that the service has parsed, in the format of its content type. */
function bodyOf(body: unknown, contentType: string | undefined): string {
  if (typeof body === "string") return body;
  if (contentType?.startsWith("application/x-www-form-urlencoded") && typeof body === "object" && body !== null) {
    const form = new URLSearchParams();
    for (const [name, value] of Object.entries(body)) {
      for (const each of Array.isArray(value) ? value : [value]) form.append(name, String(each));
    }
    return form.toString();
  }
  return JSON.stringify(body);
}
