import { CaissonError } from "@caisson/client";

/** The wait after an answer that names none. */
const LATER_MS = 2_000;
/** A build that takes longer has failed or waits behind many others. */
const MOST_MS = 120_000;

/**
 * Runs code, and runs it again when the packages that it imports are built. Each attempt counts as a run.
 *
 * @param onBuilding receives whether the run waits for a build
 */
export async function runWhenBuilt<T>(
  run: () => Promise<T>,
  onBuilding: (isBuilding: boolean) => void,
  signal: AbortSignal,
): Promise<T> {
  const giveUpMs = performance.now() + MOST_MS;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      const isBuilding = error instanceof CaissonError && error.code === "packages_building";
      if (!isBuilding || performance.now() > giveUpMs) throw error;
      onBuilding(true);
      await pause(error.retryAfterMs ?? LATER_MS, signal);
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  setTimeout(resolve, ms);
  signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  return promise;
}
