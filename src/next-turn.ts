const waiting: (() => void)[] = [];

/**
 * Waits for a turn of the event loop that no other caller of this function gets.
 *
 * Work that takes many milliseconds is done in slices, so that other requests are served in between. If each piece of work
 * waited for itself, the slices of many requests would fall into one turn, and together stop it for seconds.
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
