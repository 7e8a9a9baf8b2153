import { CaissonError } from "@caisson/client";
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { rangesOf } from "./package-ranges.ts";
import type { Mark } from "./parts/editor-marks.ts";
import { markAt } from "./run-mark.ts";
import { client } from "./session.ts";

/** The time after the last key at which the service parses the text: long enough for a pause in typing. */
const PAUSE_MS = 500;
/** The wait after a refusal that names none. */
const LATER_MS = 30_000;

/**
 * Lets the service parse a text while the reader types it. Nothing runs, and no run is counted.
 *
 * @param known a text that the service has parsed already, by a run
 * @param file the name of the text; `.ts` at its end: TypeScript first
 * @param packages as a reader types them
 * @returns the line at which the text does not parse
 */
export function useSyntaxCheck(
  container: string,
  text: string,
  known: string,
  file?: string,
  packages = "",
): Mark | null {
  const found: Signal<Mark | null> = useSignal<Mark | null>(null);
  const notBefore = useSignal(0);
  useEffect(() => {
    if (text === known || container === "" || text.trim() === "") {
      found.value = null;
      return undefined;
    }
    const stop = new AbortController();
    const check = async (): Promise<void> => {
      try {
        const ranges = rangesOf(packages);
        const request = { code: text, ...(file !== undefined && { file }), ...(ranges && { packages: ranges }) };
        const error = await client().check(container, request, { signal: stop.signal, retry: { limited: false } });
        if (!stop.signal.aborted) found.value = markAt(error);
      } catch (error) {
        // The reader did not ask for the check, so a failure shows nothing. A run reports the fault of the text, too.
        const isRefused = error instanceof CaissonError && error.status !== null;
        if (isRefused) notBefore.value = Date.now() + (error.retryAfterMs ?? LATER_MS);
      }
    };
    const timer = setTimeout(() => void check(), Math.max(PAUSE_MS, notBefore.peek() - Date.now()));
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [container, text, known, file, packages]);
  return found.value;
}
