import { parentPort } from "node:worker_threads";

import { READY, type ThreadAnswer, type ThreadFault, type ThreadRequest } from "./request-thread.ts";

/**
 * Fulfils the requests to this thread, one after the other. An error of `fulfil` becomes the fault of the request.
 *
 * @param fulfil receives what the `RequestThread` of this program sends, and returns what it expects.
 */
export function serveRequests(fulfil: (request: never) => unknown): void {
  parentPort!.on("message", ({ number, request }: ThreadRequest<never>) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    parentPort!.postMessage(answerOf(number, request, fulfil) satisfies ThreadAnswer<unknown>);
  });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage({ number: READY } satisfies ThreadAnswer<unknown>);
}

function answerOf(number: number, request: never, fulfil: (request: never) => unknown): ThreadAnswer<unknown> {
  try {
    return { number, reply: fulfil(request) };
  } catch (error) {
    return { number, fault: faultOf(error) };
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
