import { parentPort } from "node:worker_threads";

import { READY, type ThreadAnswer, type ThreadFault, type ThreadRequest } from "./request-thread.ts";

/** Fulfils the requests of one service. An error becomes the fault of the request. */
type Fulfil = (request: never) => unknown;

/** Fulfils the requests to this thread, one after the other. @param services what the thread does, by name. */
export function serveRequests(services: Readonly<Record<string, Fulfil>>): void {
  parentPort!.on("message", ({ number, service, request }: ThreadRequest) => {
    answer({ number, ...outcomeOf(services[service]!, request as never) });
  });
  answer({ number: READY });
}

function answer(message: ThreadAnswer): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage(message);
}

function outcomeOf(fulfil: Fulfil, request: never): Omit<ThreadAnswer, "number"> {
  try {
    return { reply: fulfil(request) };
  } catch (error) {
    return { fault: faultOf(error) };
  }
}

function faultOf(error: unknown): ThreadFault {
  if (!(error instanceof Error)) return { message: String(error), code: "ERROR" };
  // The error of a database that cannot be opened has the error of SQLite as its cause.
  const { code = "ERROR", errstr } = (error.cause instanceof Error ? error.cause : error) as SystemError;
  return { message: error.message, code: errstr ?? code };
}

interface SystemError {
  readonly code?: string;
  /** The text of a result code of SQLite, such as `database or disk is full`. */
  readonly errstr?: string;
}
