const STEP_MS = 20;

/** Polls until the condition holds. @throws {Error} if it does not hold in time */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs: number = 20_000,
): Promise<void> {
  const giveUpMs = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > giveUpMs) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`);
    await pause(STEP_MS);
  }
}

/** Waits for a fixed time. Only for a test of that length, such as the wait of `Retry-After`. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
