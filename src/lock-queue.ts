import { setTimeout as pause } from "node:timers/promises";

import { nextTurn } from "./next-turn.ts";

/** How long a change waits for the lock of another process, in milliseconds. Commands and backups hold it far shorter. */
const LONGEST_MS = 2_000;
/** The pause between two tries in milliseconds. A try takes a small part of it. */
const PAUSE_MS = 20;

/** Result codes of SQLite (https://sqlite.org/rescode.html). */
const BUSY = 5;
const LOCKED = 6;

/**
 * The changes that wait because another process, such as the shell of an operator, has the write lock of a database.
 *
 * SQLite itself would wait in the only thread of the service, and all runs would stop. One change tries again at a time, so
 * that the number of waiting changes does not multiply the work.
 */
export class LockQueue {
  readonly #longestMs: number;
  #last: Promise<unknown> | null = null;

  /** @param longestMs how long a change waits */
  constructor(longestMs: number = LONGEST_MS) {
    this.#longestMs = longestMs;
  }

  /**
   * Makes a change at once. While the lock is taken, the change waits for it behind those that came before.
   *
   * @param change is atomic, and is called again after each try that found the lock taken
   * @throws the error of `change`: that of SQLite if the lock stays taken
   */
  run<T>(change: () => T): T | Promise<T> {
    if (this.#last === null) {
      try {
        return change();
      } catch (error) {
        if (!isLockTaken(error)) throw error;
      }
    }
    const changed = changedAfter(this.#last ?? pause(PAUSE_MS), change, performance.now() + this.#longestMs);
    const settled: Promise<void> = changed.then(
      () => this.#settled(settled),
      () => this.#settled(settled),
    );
    this.#last = settled;
    return changed;
  }

  #settled(change: Promise<void>): void {
    if (this.#last === change) this.#last = null;
  }
}

async function changedAfter<T>(previous: Promise<unknown>, change: () => T, untilMs: number): Promise<T> {
  await previous;
  // When the lock is free, many changes may follow each other, and each waits for the disk.
  await nextTurn();
  for (;;) {
    try {
      return change();
    } catch (error) {
      if (!isLockTaken(error) || performance.now() >= untilMs) throw error;
    }
    await pause(PAUSE_MS);
  }
}

/** Stores wrap the error of SQLite in a `Problem`. */
function isLockTaken(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    // The upper bytes extend the code with a detail.
    const code = ((each as { errcode?: number }).errcode ?? 0) & 0xff;
    if (code === BUSY || code === LOCKED) return true;
  }
  return false;
}
