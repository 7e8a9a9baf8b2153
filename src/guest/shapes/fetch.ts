import { contextOf, type TaskContext } from "../context.ts";
import type { Incoming } from "../request-body.ts";
import { answerResponse } from "../result.ts";
import type { Shape } from "./shape.ts";

const NativeStream = ReadableStream;

export interface FetchHandler {
  fetch: (request: Request, env: object, ctx: object) => unknown;
}

/** Whether a value is an object with `fetch`. */
export function isFetchHandler(value: unknown): value is FetchHandler {
  return typeof value === "object" && value !== null && typeof (value as { fetch?: unknown }).fetch === "function";
}

/** An object with `fetch`, which answers a `Request` with a `Response`. */
export function fetchShape(handler: FetchHandler): Shape {
  return {
    needsContext: true,
    answersBy: "value",
    streamsBody: () => true,
    run: (run) => {
      const context = contextOf(run);
      const env = Object.assign(Object.create(null) as object, context.params, context.secrets);
      answerResponse(run, handler.fetch(requestOf(context, run.incoming), env, { waitUntil: context.waitUntil }));
    },
  };
}

function requestOf(context: TaskContext, incoming: Incoming | null): Request {
  const { method, url, headers, body, signal } = context;
  const mayHaveBody = method !== "GET" && method !== "HEAD";
  if (incoming && mayHaveBody) {
    // The standard's types do not know yet that a body may be a stream, and that it must be said to go one way.
    const init = { method, headers, signal, body: streamOf(incoming), duplex: "half" } as RequestInit;
    return new Request(url, init);
  }
  const bodiless = body === undefined || !mayHaveBody;
  return new Request(url, { method, headers, signal, body: bodiless ? null : bodyOf(body, headers["content-type"]) });
}

/** Nothing is read ahead of who reads it. */
function streamOf(incoming: Incoming): ReadableStream {
  return new NativeStream(
    {
      pull: async (controller) => {
        const piece = await incoming.read();
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The service has parsed the body; it is written again in the form that the headers speak of. */
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
