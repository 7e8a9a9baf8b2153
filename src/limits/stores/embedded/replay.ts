import type { Anchor } from "../../clock.ts";
import type { Records } from "./records.ts";
import { KeyTable } from "./table.ts";

/** Makes the counts from the records of a snapshot and of journals. */
export class Replay implements Records {
  readonly table: KeyTable = new KeyTable();
  newest = 0;
  newestAnchor: Anchor | undefined;
  /** Whether the end of a snapshot was seen, and all its keys before it. */
  complete = false;
  /** Runs that could not be counted against a key, because nothing tells which one it was. */
  nameless = 0;
  readonly #salvage: boolean;
  #names: (string | undefined)[] = [];
  #keys = 0;

  /** @param salvage whether records may be missing: what refers to them is left out then */
  constructor(salvage = false) {
    this.#salvage = salvage;
  }

  /** How many ids the journal has given out. */
  get ids(): number {
    return this.#names.length;
  }

  beginJournal(): void {
    this.#names = [];
  }

  /** Tells the keys by which ids the journal knows them. */
  giveIds(journal: number): void {
    for (const [id, name] of this.#names.entries()) {
      const log = name === undefined ? undefined : this.table.find(name);
      if (log) Object.assign(log, { journal, id });
    }
  }

  anchor(anchor: Anchor): void {
    this.newestAnchor = anchor;
  }

  start(time: number): void {
    this.#pass(time);
  }

  key(name: string, id: number): void {
    const isNext = id === this.#names.length;
    if (!isNext && !this.#salvage) throw new RangeError(`it gives a key the id ${id} instead of ${this.#names.length}`);
    this.#names[id] = name;
  }

  admission(time: number, ids: readonly number[]): void {
    this.#pass(time);
    const before = this.table.size;
    for (const id of ids) {
      const name = this.#name(id);
      if (name === undefined) this.nameless += 1;
      else (this.table.find(name) ?? this.table.make(name)).charge(time);
    }
    this.table.dropIdle(time, this.table.size - before);
  }

  reset(time: number, id: number): void {
    this.#pass(time);
    const name = this.#name(id);
    if (name !== undefined) this.table.drop(name);
  }

  counts(name: string, entries: readonly (readonly [time: number, count: number])[]): void {
    this.#keys++;
    const log = this.table.make(name);
    for (const [time, count] of entries) log.charge(time, count);
  }

  end(keys: number): void {
    if (keys !== this.#keys && !this.#salvage)
      throw new RangeError(`it should hold ${keys} keys and holds ${this.#keys}`);
    this.complete = true;
  }

  #name(id: number): string | undefined {
    const name = this.#names[id];
    if (name === undefined && !this.#salvage) throw new RangeError(`it names the key ${id} before telling what it is`);
    return name;
  }

  #pass(time: number): void {
    this.newest = Math.max(this.newest, time);
  }
}
