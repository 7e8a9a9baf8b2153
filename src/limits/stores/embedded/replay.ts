import type { Anchor } from "../../steady-clock.ts";
import type { Records } from "./count-records.ts";
import { KeyTable } from "./key-table.ts";

/** Computes the counts from the records of a snapshot and of journals. */
export class Replay implements Records {
  readonly table: KeyTable = new KeyTable();
  newest = 0;
  newestAnchor: Anchor | undefined;
  /** Whether the replay has read the end of a snapshot, and all its keys before that. */
  complete = false;
  /** Runs that could not be counted against a key, because the record with its name is lost. */
  unnamedRuns = 0;
  readonly #salvage: boolean;
  #names: (string | undefined)[] = [];
  #keys = 0;

  /** @param salvage whether records may be missing; references to missing records are then skipped */
  constructor(salvage = false) {
    this.#salvage = salvage;
  }

  /** How many ids the journal has assigned. */
  get ids(): number {
    return this.#names.length;
  }

  beginJournal(): void {
    this.#names = [];
  }

  /** Stores in each key's log the id that the journal has assigned to the key. */
  assignIds(journal: number): void {
    for (const [id, name] of this.#names.entries()) {
      const log = name === undefined ? undefined : this.table.find(name);
      if (log) Object.assign(log, { journal, id });
    }
  }

  anchor(anchor: Anchor): void {
    this.newestAnchor = anchor;
  }

  start(time: number): void {
    this.#advance(time);
  }

  key(name: string, id: number): void {
    const isNext = id === this.#names.length;
    if (!isNext && !this.#salvage) throw new RangeError(`it gives a key the id ${id} instead of ${this.#names.length}`);
    this.#names[id] = name;
  }

  admission(time: number, ids: readonly number[]): void {
    this.#advance(time);
    const before = this.table.size;
    for (const id of ids) {
      const name = this.#name(id);
      if (name === undefined) this.unnamedRuns += 1;
      else (this.table.find(name) ?? this.table.create(name)).charge(time);
    }
    this.table.dropIdle(time, this.table.size - before);
  }

  reset(time: number, id: number): void {
    this.#advance(time);
    const name = this.#name(id);
    if (name !== undefined) this.table.drop(name);
  }

  counts(name: string, entries: readonly (readonly [time: number, count: number])[]): void {
    this.#keys++;
    const log = this.table.create(name);
    for (const [time, count] of entries) log.charge(time, count);
  }

  end(keys: number): void {
    if (keys !== this.#keys && !this.#salvage)
      throw new RangeError(`it should contain ${keys} keys and contains ${this.#keys}`);
    this.complete = true;
  }

  #name(id: number): string | undefined {
    const name = this.#names[id];
    if (name === undefined && !this.#salvage) throw new RangeError(`it uses the key id ${id} before assigning it`);
    return name;
  }

  #advance(time: number): void {
    this.newest = Math.max(this.newest, time);
  }
}
