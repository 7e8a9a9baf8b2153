/**
 * Awaits work for a limited time. The work itself continues after that; the caller must stop it.
 *
 * @param late creates the error that is thrown after `ms` milliseconds.
 * @param work receives a function that restarts the time.
 * @throws the reason of the signal if it aborts first.
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
  const onAbort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  work(restart).then(resolve, reject);
  try {
    return await promise;
  } finally {
    isOver = true;
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}
