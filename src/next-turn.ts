/** Work that waits, by whom it is for: the one whose turn comes next is first. */
const lines = new Map<string, (() => void)[]>();

/**
 * Waits for a turn of the event loop that no other caller of this function gets.
 *
 * Work that takes many milliseconds is done in slices, so that other requests are served in between. If each piece of work
 * waited for itself, the slices of many requests would fall into one turn, and together stop it for seconds.
 *
 * Holders take turns: in one line for all, the work of another holder would wait behind each of a thousand requests.
 *
 * @param holder the token family or the network that the work is for; without it the service itself.
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
