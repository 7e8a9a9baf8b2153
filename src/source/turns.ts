interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

/** Bounds how much work of one name is done at a time; the rest waits in line. */
export class Turns {
  readonly #most: number;
  readonly #lines: Map<string, Line> = new Map();

  /** @param most how much work of one name is done at a time. */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws the signal's reason when it aborts before the work has begun, or what the work throws. */
  async take<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(name) ?? { running: 0, waiting: [] };
    this.#lines.set(name, line);
    if (line.running < this.#most) line.running += 1;
    else await turnIn(line, signal);
    try {
      return await work();
    } finally {
      // A turn is handed on, so that work that comes now does not overtake.
      const next = line.waiting.shift();
      if (next) next();
      else line.running -= 1;
      if (line.running === 0) this.#lines.delete(name);
    }
  }
}

async function turnIn({ waiting }: Line, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const leave = (): void => {
    const at = waiting.indexOf(resolve);
    // A turn that was handed on already is used: the work ends by the same signal, and hands it on.
    if (at < 0) return;
    waiting.splice(at, 1);
    reject(signal.reason);
  };
  waiting.push(resolve);
  signal.addEventListener("abort", leave, { once: true });
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
