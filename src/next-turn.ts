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

/** The longest slice of work in one turn of the event loop. */
const SLICE_MS = 2;

/** Work in slices of about 2 ms, for loops whose steps take unequal times. */
export class Slices {
  readonly #holder: string;
  #endMs = -Infinity;

  /** @param holder the `holder` argument of `nextTurn` */
  constructor(holder: string) {
    this.#holder = holder;
  }

  /** Whether the slice has ended. The loop then awaits `next` before its next step. True before the first slice. */
  get hasEnded(): boolean {
    return performance.now() >= this.#endMs;
  }

  async next(): Promise<void> {
    await nextTurn(this.#holder);
    this.#endMs = performance.now() + SLICE_MS;
  }
}
