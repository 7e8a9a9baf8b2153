/** A run that waits for a guest. */
export interface Waiting {
  /** The token family that the guest counts for. */
  readonly holder: object | null;
  /** Whether a client without a token opened the slot. */
  readonly isPublic: boolean;
  /** Whether the guest replaces a guest that its container has lost. */
  readonly replaces: boolean;
}

/**
 * The runs that wait for a guest, in turns of token families: in one line for all, the runs of one family would wait behind
 * all runs of another. A family gets one guest in each round. Within a round, replacements go first.
 */
export class StartTurns<T extends Waiting> {
  /** The line of each family that waits. */
  readonly #lines = new Map<object | null, Line<T>>();
  /** The next round of the families that were served in this round. A family must not leave and come again for more. */
  readonly #served = new Map<object | null, number>();
  #round = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The number of families that wait. */
  get holders(): number {
    return this.#lines.size;
  }

  countOf(holder: object | null): number {
    return this.#lines.get(holder)?.count ?? 0;
  }

  add(waiter: T): void {
    const { holder } = waiter;
    let line = this.#lines.get(holder);
    if (!line) {
      line = new Line(Math.max(this.#round, this.#served.get(holder) ?? 0));
      this.#lines.set(holder, line);
    }
    line.add(waiter);
    this.#count++;
  }

  /** Returns the run with the next turn, or null. */
  peek(): T | null {
    return this.#first()?.[1].next ?? null;
  }

  /** Removes and returns the run with the next turn, or null. */
  take(): T | null {
    const first = this.#first();
    if (!first) return null;
    const [holder, line] = first;
    const waiter = line.take();
    this.#count--;
    if (line.round > this.#round) this.#begin(line.round);
    line.round++;
    this.#lines.delete(holder);
    // Behind the families of the same round.
    if (line.count > 0) this.#lines.set(holder, line);
    else this.#served.set(holder, line.round);
    return waiter;
  }

  /** Removes and returns all, in their turns. */
  *drain(): Generator<T> {
    for (let waiter = this.take(); waiter; waiter = this.take()) yield waiter;
  }

  #first(): [holder: object | null, line: Line<T>] | null {
    let first: [object | null, Line<T>] | null = null;
    for (const entry of this.#lines) if (first === null || isBefore(entry[1], first[1])) first = entry;
    return first;
  }

  #begin(round: number): void {
    this.#round = round;
    for (const [holder, next] of this.#served) if (next <= round) this.#served.delete(holder);
  }
}

function isBefore(a: Line<Waiting>, b: Line<Waiting>): boolean {
  if (a.round !== b.round) return a.round < b.round;
  return a.next.replaces && !b.next.replaces;
}

/** The waiting runs of a family. Runs with and without a token alternate. */
class Line<T extends Waiting> {
  /** The round in which the family has its next turn. */
  round: number;
  readonly #own: T[] = [];
  readonly #public: T[] = [];
  #isPublicNext = false;

  constructor(round: number) {
    this.round = round;
  }

  get count(): number {
    return this.#own.length + this.#public.length;
  }

  /** The run with the next turn. A line is never empty. */
  get next(): T {
    return this.#nextLane[0]!;
  }

  add(waiter: T): void {
    const lane = waiter.isPublic ? this.#public : this.#own;
    const index = waiter.replaces ? lane.findIndex((each) => !each.replaces) : -1;
    lane.splice(index < 0 ? lane.length : index, 0, waiter);
  }

  take(): T {
    const waiter = this.#nextLane.shift()!;
    this.#isPublicNext = !waiter.isPublic;
    return waiter;
  }

  get #nextLane(): T[] {
    const [first, second] = this.#isPublicNext ? [this.#public, this.#own] : [this.#own, this.#public];
    return first.length > 0 ? first : second;
  }
}
