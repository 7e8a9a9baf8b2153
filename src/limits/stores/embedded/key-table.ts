import { CellLog } from "../../cell-log.ts";
import { LONGEST_MS } from "../../windows.ts";

/** How many keys the sweep visits at each admission, so that it removes keys even without new keys. */
const SWEPT = 1;
/** How many more keys the sweep visits for each new key. Two are enough to visit all before their number doubles. */
const SWEPT_PER_NEW_KEY = 2;

/** The counts of all keys in memory. */
export class KeyTable {
  readonly #logs = new Map<string, CellLog>();
  /** The position from which the search for idle keys continues. */
  #sweep: MapIterator<[string, CellLog]> = this.#logs.entries();

  get size(): number {
    return this.#logs.size;
  }

  find(key: string): CellLog | undefined {
    return this.#logs.get(key);
  }

  /** Creates the log of a key that has none. */
  create(key: string): CellLog {
    const log = new CellLog();
    this.#logs.set(key, log);
    return log;
  }

  put(key: string, log: CellLog): void {
    this.#logs.set(key, log);
  }

  drop(key: string): void {
    this.#logs.delete(key);
  }

  /** Iterates while keys are added and removed. It visits each remaining key once. */
  entries(): MapIterator<[string, CellLog]> {
    return this.#logs.entries();
  }

  /**
   * Drops keys that no window holds, to make room for new ones. It visits a few keys for each admission, so it needs no timer
   * and causes no pause. Call it after the charge: before, it might drop a key that is about to be charged.
   */
  dropIdle(now: number, newKeys: number): void {
    for (let visited = 0; visited < SWEPT + newKeys * SWEPT_PER_NEW_KEY; visited++) {
      const next = this.#sweep.next();
      if (next.done) {
        this.#sweep = this.#logs.entries();
        return;
      }
      const [key, log] = next.value;
      if (log.newest + LONGEST_MS <= now) this.#logs.delete(key);
    }
  }
}
