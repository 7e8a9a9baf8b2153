const waiting: (() => void)[] = [];

/**
 * Waits for a turn of the event loop in which no other caller of this function continues.
 *
 * Work of many milliseconds runs in slices, so that the service serves other requests between them. If each request
 * waited separately, the slices of many requests would run in the same turn, and together block it for seconds.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(giveTurn);
  });
}

function giveTurn(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(giveTurn);
}
