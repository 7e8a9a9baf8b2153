/** Waiting work by its holder. The holder with the next turn is first. */
const lines = new Map<string, (() => void)[]>();

/**
 * Waits for a turn of the event loop in which no other caller of this function continues.
 *
 * Work of many milliseconds runs in slices, so that the service serves other requests between them. If each request
 * waited separately, the slices of many requests would run in the same turn, and together block it for seconds.
 *
 * Holders take turns: in one line for all, the work of one holder would wait behind every request of another.
 *
 * @param holder the token family or the network that the work is for; without it, the service itself.
 */
export function nextTurn(holder: string = ""): Promise<void> {
  return new Promise((resolve) => {
    const line = lines.get(holder);
    if (line) line.push(resolve);
    else {
      lines.set(holder, [resolve]);
      if (lines.size === 1) setImmediate(giveTurn);
    }
  });
}

function giveTurn(): void {
  const [holder, line] = lines.entries().next().value!;
  lines.delete(holder);
  line.shift()!();
  if (line.length > 0) lines.set(holder, line);
  if (lines.size > 0) setImmediate(giveTurn);
}
