import { AsyncResource } from "node:async_hooks";

import { uncurry } from "../../wire/uncurry.ts";

const runInAsyncScope = uncurry(AsyncResource.prototype, "runInAsyncScope") as (
  resource: AsyncResource,
  step: () => unknown,
) => unknown;
const later = process.nextTick.bind(process);

/** The asynchronous context in which something was asked for, for what comes of it. */
export class Scope {
  readonly #resource = new AsyncResource("CAISSON_NETWORK", { requireManualDestroy: true });

  /**
   * Does a step in the context. A throw of the task's own listeners is thrown again on its own: it must neither cut off the
   * frames that came with this one nor look like nobody's.
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
