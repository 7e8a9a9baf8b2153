import { Problem } from "../errors.ts";
import { building } from "./build-queue.ts";

/** How to wait for a build. */
export interface Waiting {
  readonly waitMs: number;
  /** Aborts when the client has left. The build goes on. */
  readonly signal?: AbortSignal;
  /** Called if the caller has to wait. It may throw, and the build goes on. */
  readonly onWait?: () => void;
}

const WARM = " The build goes on. caisson packages warm builds packages before the first run.";

/** The problem of a caller that waits no longer, while its build waits or runs. */
export class BuildGoesOn extends Problem {
  constructor() {
    const { code, message, options } = building("the packages are being built", WARM);
    super(code, message, options);
  }
}

/** Waits for a build. @throws {BuildGoesOn} if it takes longer than the caller waits */
export async function waitForBuild<T>(build: Promise<T>, { waitMs, signal, onWait }: Waiting): Promise<T> {
  // The build goes on without its caller, and then its failure is unhandled.
  build.catch(() => {});
  onWait?.();
  const { promise: given, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new BuildGoesOn()), waitMs);
  timer.unref();
  const onAbort = (): void => reject(signal!.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    signal?.throwIfAborted();
    return await Promise.race([build, given]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}
