/**
 * Waits for work, but not for ever. The work itself goes on; whoever started it stops it.
 *
 * @param late makes what is thrown after `ms` milliseconds.
 * @throws the signal's reason when it aborts first.
 */
export async function within<T>(ms: number, late: () => unknown, work: Promise<T>, signal?: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => reject(late()), ms);
  const leave = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", leave, { once: true });
  work.then(resolve, reject);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", leave);
  }
}
