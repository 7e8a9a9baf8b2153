import type { ServerResponse } from "node:http";

import { Problem } from "../../errors.ts";

/** The end of a run whose client has left. */
export const CLIENT_LEFT: Problem = new Problem(
  "run_cancelled",
  "the client disconnected before it had the whole answer",
);

/**
 * Does work that a run waits for. The run of a client that has left must not hold its place for as long as the work lasts.
 *
 * @param work its signal aborts with `run_cancelled` when the client leaves
 */
export async function whileClientWaits<T>(
  { response, answer }: { readonly response: ServerResponse; readonly answer: { readonly isGone: boolean } },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const left = new AbortController();
  const onClose = (): void => left.abort(CLIENT_LEFT);
  if (answer.isGone) onClose();
  response.once("close", onClose);
  try {
    return await work(left.signal);
  } finally {
    response.off("close", onClose);
  }
}
