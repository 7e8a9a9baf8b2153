import { CaissonError } from "./error.ts";

export interface RetryOptions {
  /**
   * `true`: a request that is answered 429, or 503 `packages_building`, waits and is sent again. A 429 has run and counted nothing. A run
   * whose packages are being built has counted.
   */
  readonly limited?: boolean | undefined;
  /** The most milliseconds that one request waits in all; default: 60000. A longer wait is an error at once. */
  readonly maxWaitMs?: number | undefined;
}

const DEFAULT_WAIT_MS = 60_000;
/** The wait after an answer that names none. */
const UNNAMED_WAIT_MS = 1_000;
/** The shortest wait, so that an answer of 0 does not cause a loop without pauses. */
const MIN_WAIT_MS = 10;
/** Timers of JavaScript have 31 bits. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Sends a request again while it is answered 429 or `packages_building`, if the options say so. */
export async function retryWhenLimited<T>(
  send: () => Promise<T>,
  { limited = false, maxWaitMs = DEFAULT_WAIT_MS }: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  let leftMs = Math.min(maxWaitMs, MAX_TIMER_MS);
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!limited || !(error instanceof CaissonError) || !mayBeSentAgain(error)) throw error;
      // A timer may fire a millisecond early.
      const waitMs = Math.max(Math.ceil(error.retryAfterMs ?? UNNAMED_WAIT_MS) + 1, MIN_WAIT_MS);
      if (waitMs > leftMs) throw error;
      leftMs -= waitMs;
      await wait(waitMs, signal);
    }
  }
}

function mayBeSentAgain({ status, code }: CaissonError): boolean {
  return status === 429 || code === "packages_building";
}

/** Waits for that time, at most for the longest time of a timer (24 days). @throws {CaissonError} `aborted` */
export function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(new CaissonError({ code: "aborted", detail: "the request was aborted", cause: signal!.reason }));
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      },
      Math.min(milliseconds, MAX_TIMER_MS),
    );
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
