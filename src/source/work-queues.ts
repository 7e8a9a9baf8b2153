interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

/** Limits the simultaneous work of each name. Other work of the name waits in a queue. */
export class WorkQueues {
  readonly #most: number;
  readonly #queues: Map<string, Queue> = new Map();

  /** @param most the maximum number of simultaneous work of one name. */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws the reason of the signal if it aborts before the work starts, or the error of the work. */
  async run<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(name) ?? { running: 0, waiting: [] };
    this.#queues.set(name, queue);
    if (queue.running < this.#most) queue.running += 1;
    else await waitInQueue(queue, signal);
    try {
      return await work();
    } finally {
      // The slot goes to the next work of the queue, so that newer work does not overtake it.
      const next = queue.waiting.shift();
      if (next) next();
      else queue.running -= 1;
      if (queue.running === 0) this.#queues.delete(name);
    }
  }
}

async function waitInQueue({ waiting }: Queue, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => {
    const at = waiting.indexOf(resolve);
    // The work already has its slot: the same signal ends it, and it then frees the slot.
    if (at < 0) return;
    waiting.splice(at, 1);
    reject(signal.reason);
  };
  waiting.push(resolve);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
