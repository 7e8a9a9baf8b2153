import { flushCompileCache } from "node:module";
import { parentPort } from "node:worker_threads";

import { READY, type ThreadAnswer, type ThreadRequest } from "./request-thread.ts";
import { reasonOf } from "./sqlite-fault.ts";

/** Fulfils the requests of one service. An error becomes the fault of the request. */
type Fulfil = (request: never) => unknown;

/** Fulfils the requests to this thread, one after the other. @param services what the thread does, by name. */
export function serveRequests(services: Readonly<Record<string, Fulfil>>): void {
  parentPort!.on("message", ({ service, request }: ThreadRequest) => {
    answer(outcomeOf(services[service]!, request as never));
  });
  // Now, because later the service may run as a user without write access.
  flushCompileCache();
  answer(READY);
}

function answer(message: ThreadAnswer): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage(message);
}

function outcomeOf(fulfil: Fulfil, request: never): ThreadAnswer {
  try {
    return { reply: fulfil(request) };
  } catch (error) {
    return { fault: { message: error instanceof Error ? error.message : String(error), code: reasonOf(error) } };
  }
}
