import { AsyncResource } from "node:async_hooks";

import { uncurry } from "../../wire/uncurry.ts";

const runInAsyncScope = uncurry(AsyncResource.prototype, "runInAsyncScope") as (
  resource: AsyncResource,
  step: () => unknown,
) => unknown;
const later = process.nextTick.bind(process);

/** The asynchronous context of the code that opened a connection or started a lookup. Its callbacks run in this context. */
export class Scope {
  readonly #resource = new AsyncResource("CAISSON_NETWORK", { requireManualDestroy: true });

  /**
   * Runs `step` in the context. If a listener of the task throws, the error is thrown again in a later tick of the same
   * context. So the other frames of this read are still processed, and the error belongs to the run.
   */
  run(step: () => void): void {
    try {
      runInAsyncScope(this.#resource, step);
    } catch (error) {
      runInAsyncScope(this.#resource, () => later(rethrow, error));
    }
  }
}

function rethrow(error: unknown): never {
  throw error;
}
