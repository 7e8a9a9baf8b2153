import type { RunObserver } from "../../../src/http/run/execution.ts";

const ignore = (): void => {};

/** An observer for tests that look at the answer only. */
export const SILENT: RunObserver = {
  over: ignore,
  responded: ignore,
  hinted: (hint) => hint,
  succeeded: ignore,
  failed: ignore,
  refused: ignore,
  usesEgress: ignore,
  logSink: { log: ignore, lateError: ignore },
};
