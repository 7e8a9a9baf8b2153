import { building } from "../packages/build-queue.ts";

/**
 * The most changes of one token family that wait for their packages. Each holds its code in memory, up to four times a megabyte, also
 * when its client has the answer that the task will be published later. Any number may wait for one build.
 */
const MAX_OF_FAMILY = 8;

/** Counts the changes of tasks that wait for their packages. */
export class WaitingChanges {
  readonly #byFamily = new Map<string, number>();

  /** Counts a change until `leave`. @throws {Problem} `packages_building` if the family has its share */
  enter(family: string): void {
    const own = this.#byFamily.get(family) ?? 0;
    if (own >= MAX_OF_FAMILY) throw building(`${own} changes of tasks of the token family wait for their packages`);
    this.#byFamily.set(family, own + 1);
  }

  leave(family: string): void {
    const own = this.#byFamily.get(family)! - 1;
    if (own === 0) this.#byFamily.delete(family);
    else this.#byFamily.set(family, own);
  }
}
