import { WaitingBytes } from "../waiting-bytes.ts";
import type { Day } from "./day.ts";
import { ROW_FAMILY, ROW_SIZE, type StoredRow } from "./stored-row.ts";
import type { Batch, Omission } from "./thread-messages.ts";

/** The most bytes of a batch. Copying them to the thread takes about a millisecond of the service. */
const BATCH_BYTES = 2 ** 20;
/** The most rows of a batch, for the same reason. */
const BATCH_ROWS = 2_000;
/**
 * The most containers of all families, and of one family, whose omissions wait for the writer. They are fixed, because they are
 * of a quarter of a second, and because the row that each family has in addition keeps its total exact.
 */
const MOST_OMISSIONS = 4_096;
const MOST_OMISSIONS_OF_FAMILY = 256;

interface PendingOmissions {
  /** Counts by container, by family. */
  readonly families: Map<string, Map<string, number>>;
  count: number;
}

/** What the writer has not written yet, by day. Its bytes are bounded, including those of the batch on the way. */
export class Pending {
  readonly #rows = new Map<Day, StoredRow[]>();
  readonly #omissions = new Map<Day, PendingOmissions>();
  readonly #waiting: WaitingBytes;
  #bytes = 0;

  /** @param mostBytes the most bytes that wait for the writer */
  constructor(mostBytes: number) {
    this.#waiting = new WaitingBytes(mostBytes);
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0 && this.#omissions.size === 0;
  }

  /** The number of days with rows. Each needs its own batch. */
  get days(): number {
    return this.#rows.size;
  }

  /** Whether more than a batch is waiting. */
  get isLong(): boolean {
    return this.#bytes >= BATCH_BYTES;
  }

  hasRoom(family: string, bytes: number): boolean {
    return this.#waiting.fits(family, bytes);
  }

  add(day: Day, row: StoredRow): void {
    this.#bytes += row[ROW_SIZE];
    this.#waiting.add(row[ROW_FAMILY], row[ROW_SIZE]);
    const rows = this.#rows.get(day);
    if (rows) rows.push(row);
    else this.#rows.set(day, [row]);
  }

  omit(day: Day, family: string, container: string): void {
    let pending = this.#omissions.get(day);
    if (!pending) this.#omissions.set(day, (pending = { families: new Map(), count: 0 }));
    let counts = pending.families.get(family);
    // However many rows there are, each family has one for its other containers.
    if (!counts) pending.families.set(family, (counts = new Map()));
    const isListed =
      counts.has(container) || (counts.size < MOST_OMISSIONS_OF_FAMILY && pending.count < MOST_OMISSIONS);
    const name = isListed ? container : "";
    if (!counts.has(name)) pending.count += 1;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }

  /** Takes the next batch. Its bytes count until they are released. @returns null if nothing is waiting. */
  take(): Batch | null {
    const [day] = this.#rows.size > 0 ? this.#rows.keys() : this.#omissions.keys();
    if (day === undefined) return null;
    const all = this.#rows.get(day) ?? [];
    this.#rows.delete(day);
    const rows = all.splice(0, lengthOfBatch(all));
    // Days take turns: at midnight runs of two days end at the same time.
    if (all.length > 0) this.#rows.set(day, all);
    return { day, rows, omissions: this.#takeOmissions(day) };
  }

  /** Releases the bytes of rows that are written or given up. */
  release(rows: readonly StoredRow[]): void {
    for (const row of rows) {
      this.#bytes -= row[ROW_SIZE];
      this.#waiting.release(row[ROW_FAMILY], row[ROW_SIZE]);
    }
  }

  /** Empties it. @returns the number of rows. */
  clear(): number {
    let count = 0;
    for (const rows of this.#rows.values()) count += rows.length;
    this.#rows.clear();
    this.#omissions.clear();
    this.#bytes = 0;
    this.#waiting.clear();
    return count;
  }

  #takeOmissions(day: Day): Omission[] {
    const families = this.#omissions.get(day)?.families;
    this.#omissions.delete(day);
    if (!families) return [];
    return [...families].flatMap(([family, counts]) =>
      [...counts].map(([name, count]) => [family, name, count] as const),
    );
  }
}

function lengthOfBatch(rows: readonly StoredRow[]): number {
  let bytes = 0;
  let length = 0;
  for (const row of rows) {
    bytes += row[ROW_SIZE];
    if (length > 0 && (bytes > BATCH_BYTES || length >= BATCH_ROWS)) break;
    length += 1;
  }
  return length;
}
