/**
 * Waits for work, for a limited time. The work itself goes on: the caller stops it.
 *
 * @param work receives a function that starts the time again.
 * @param late makes what is thrown after `ms` milliseconds.
 * @throws the signal's reason when it aborts first.
 */
export async function within<T>(
  ms: number,
  late: () => unknown,
  work: (restart: () => void) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const expire = (): void => reject(late());
  let timer = setTimeout(expire, ms);
  let isOver = false;
  const restart = (): void => {
    if (isOver) return;
    clearTimeout(timer);
    timer = setTimeout(expire, ms);
  };
  const leave = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", leave, { once: true });
  work(restart).then(resolve, reject);
  try {
    return await promise;
  } finally {
    isOver = true;
    clearTimeout(timer);
    signal?.removeEventListener("abort", leave);
  }
}
