const STEP_MS = 20;
const LONGEST_STEP_MS = 100;
/** The pause after a check, as a multiple of its duration: a check that starts runs or reads all of /proc takes processor time. */
const PAUSES = 3;

/** Polls until the condition holds. @throws {Error} if it does not hold in time */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs: number = 20_000,
): Promise<void> {
  const giveUpMs = performance.now() + timeoutMs;
  for (;;) {
    const startMs = performance.now();
    if (await holds()) return;
    const nowMs = performance.now();
    if (nowMs > giveUpMs) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`);
    await pause(Math.min(Math.max(STEP_MS, PAUSES * (nowMs - startMs)), LONGEST_STEP_MS));
  }
}

/** Waits for a fixed time. Only for a test of that length, such as the wait of `Retry-After`. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
