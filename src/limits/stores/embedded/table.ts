import { CellLog } from "../../cell-log.ts";
import { LONGEST_MS } from "../../windows.ts";

/** How many keys each admission looks at, so that they go also when no new ones come. */
const SWEPT = 1;
/** How many more each new one looks at. Two are enough to visit all before there are twice as many. */
const SWEPT_PER_NEW_KEY = 2;

/** The counts of all keys in memory. */
export class KeyTable {
  readonly #logs = new Map<string, CellLog>();
  /** Where the search for idle keys goes on. */
  #sweep: MapIterator<[string, CellLog]> = this.#logs.entries();

  get size(): number {
    return this.#logs.size;
  }

  find(key: string): CellLog | undefined {
    return this.#logs.get(key);
  }

  /** A log for a key that has none. */
  make(key: string): CellLog {
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

  /** Goes on while keys come and go: it visits each that stays, once. */
  entries(): MapIterator<[string, CellLog]> {
    return this.#logs.entries();
  }

  /**
   * Drops keys that no window holds any more, so that new ones find room: no timer, and no pause. It looks at a few keys
   * for each admission, and is called after its keys are charged, for it might drop one that it is about to charge.
   */
  dropIdle(now: number, newKeys: number): void {
    for (let looked = 0; looked < SWEPT + newKeys * SWEPT_PER_NEW_KEY; looked++) {
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
