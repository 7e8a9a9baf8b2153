import { Problem } from "../../errors.ts";
import type { GuestProcess } from "../../sandbox/sandbox.ts";

/** The maximum time of a start. It usually takes a tenth of a second, and longer on a busy machine. */
const START_MS = 15_000;

/**
 * Waits until a guest is warm, and puts it under its limits.
 *
 * @param warm resolves when the guest reports the end of its start
 * @param end ends the guest, because its start takes too long or has failed
 * @throws {Problem} `sandbox_failed` if it ends before.
 */
export async function awaitStart(process: GuestProcess, warm: Promise<void>, end: () => void): Promise<void> {
  const failed = async (): Promise<never> => {
    const exit = await process.exited;
    throw new Problem("sandbox_failed", "a container could not be started", { cause: new Error(exit.how) });
  };
  // A start that hangs must not delay the starts behind it.
  const timer = setTimeout(end, START_MS);
  try {
    await Promise.race([warm, failed()]);
    await Promise.race([process.seal(), failed()]);
  } catch (error) {
    // The guest is registered nowhere yet, so only this function can end it.
    end();
    if (error instanceof Problem) throw error;
    throw new Problem("sandbox_failed", "a container could not be put under its limits", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
