import { AsyncLocalStorage } from "node:async_hooks";

import type { Run } from "./run.ts";

const storage = new AsyncLocalStorage<Run>();
const runIn = storage.run.bind(storage);

/** Returns the run of the executing code. It costs 0.2 µs per run, and is the only way to assign asynchronous code to a run. */
export const currentRun: () => Run | undefined = storage.getStore.bind(storage);

/** Calls `step(run)`. In `step` and in its callbacks and promises, `currentRun()` returns `run`. */
export function enterRun(run: Run, step: (run: Run) => void): void {
  runIn(run, step, run);
}
