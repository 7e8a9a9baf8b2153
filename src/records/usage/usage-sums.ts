import { CPU_MS, durationsOf, EGRESS_BYTES, REFUSED, ADMITTED, RUN_MS, runsOf } from "./columns.ts";
import { OTHER, type UsageAnswer, type UsageQuery, type UsageRow } from "./usage.ts";

/** Counts of a container, task or token in a step. */
interface Sum {
  /** The family that brought it, for its share of the entries. */
  readonly family: number;
  readonly container: string;
  readonly name: string;
  readonly start: number;
  readonly numbers: number[];
  readonly refused: Record<string, number>;
}

/** Counts of one family that the file has, added up for one entry and code. */
export type SumRow = [
  family: number,
  container: string,
  name: string,
  start: number,
  code: string,
  ...numbers: number[],
];

const MINUTE_MS = 60_000;
/** Entries in memory, for each entry of the answer. The answer names the busiest of them. */
const SPARE = 2;

/**
 * The entries of an answer. Families share the places of an answer: if there are more entries than places, the families with
 * the most entries lose the names of those with the fewest requests. Their counts are added up as `OTHER` of the same step.
 */
export class UsageSums {
  readonly #by: UsageQuery["by"];
  readonly #most: number;
  readonly #sums: Map<string, Sum> = new Map();
  /** The number of entries that a family has brought. */
  readonly #counts: Map<number, number> = new Map();
  /** The entries that a family may bring. */
  #share = Infinity;

  /** @param most the entries of an answer */
  constructor(by: UsageQuery["by"], most: number) {
    this.#by = by;
    this.#most = most;
  }

  add([family, container, name, start, code, ...numbers]: SumRow): void {
    const sum = this.#sums.get(keyOf(start, container, name)) ?? this.#newSum(family, container, name, start);
    addNumbers(sum.numbers, numbers);
    if (code !== "") sum.refused[code] = (sum.refused[code] ?? 0) + numbers[REFUSED]!;
    if (this.#sums.size > SPARE * this.#most) this.#fold();
  }

  /** Returns the entries by time, container and name. */
  answer(): UsageAnswer {
    if (this.#sums.size > this.#most) this.#fold();
    const rows = [...this.#sums.values()].toSorted(inOrder).map((sum) => rowOf(sum, this.#by));
    return { rows, isTruncated: this.#share < Infinity };
  }

  #newSum(family: number, container: string, name: string, start: number): Sum {
    const count = this.#counts.get(family) ?? 0;
    const isOther = container === OTHER && name === this.#otherName;
    if (!isOther && count >= this.#share) return this.#other(start);
    if (!isOther) this.#counts.set(family, count + 1);
    return this.#set({ family, container, name, start, numbers: [], refused: {} });
  }

  get #otherName(): string {
    return this.#by === "container" ? "" : OTHER;
  }

  #other(start: number): Sum {
    const name = this.#otherName;
    const known = this.#sums.get(keyOf(start, OTHER, name));
    return known ?? this.#set({ family: 0, container: OTHER, name, start, numbers: [], refused: {} });
  }

  #set(sum: Sum): Sum {
    this.#sums.set(keyOf(sum.start, sum.container, sum.name), sum);
    return sum;
  }

  /** Reduces the entries to the places of an answer. */
  #fold(): void {
    const byFamily = new Map<number, Sum[]>();
    const starts = new Set<number>();
    for (const sum of this.#sums.values()) {
      starts.add(sum.start);
      if (sum.container === OTHER && sum.name === this.#otherName) continue;
      const sums = byFamily.get(sum.family);
      if (sums) sums.push(sum);
      else byFamily.set(sum.family, [sum]);
    }
    // Each step may need an entry for what is added up.
    this.#share = shareOf(
      [...byFamily.values()].map(({ length }) => length),
      this.#most - starts.size,
    );
    for (const [family, sums] of byFamily) {
      if (sums.length <= this.#share) continue;
      this.#counts.set(family, this.#share);
      for (const sum of sums.toSorted(busiestFirst).slice(this.#share)) this.#giveUp(sum);
    }
  }

  #giveUp(sum: Sum): void {
    this.#sums.delete(keyOf(sum.start, sum.container, sum.name));
    const other = this.#other(sum.start);
    addNumbers(other.numbers, sum.numbers);
    for (const [code, count] of Object.entries(sum.refused)) other.refused[code] = (other.refused[code] ?? 0) + count;
  }
}

/** Returns the largest share with which all families together have at most so many entries. */
export function shareOf(counts: readonly number[], most: number): number {
  let left = Math.max(0, most);
  const ascending = counts.toSorted((a, b) => a - b);
  for (const [index, count] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (count > share) return share;
    left -= count;
  }
  return left;
}

function keyOf(start: number, container: string, name: string): string {
  // A name has no line break.
  return `${start}\n${container}\n${name}`;
}

function addNumbers(sums: number[], numbers: readonly number[]): void {
  for (const [index, number] of numbers.entries()) sums[index] = (sums[index] ?? 0) + number;
}

function busiestFirst(a: Sum, b: Sum): number {
  return requestsOf(b) - requestsOf(a) || inOrder(a, b);
}

function requestsOf({ numbers }: Sum): number {
  return numbers[ADMITTED]! + numbers[REFUSED]!;
}

function rowOf({ container, name, start, numbers, refused }: Sum, by: UsageQuery["by"]): UsageRow {
  return {
    container,
    ...(by !== "container" && { [by]: name === "" ? null : name }),
    from: new Date(start * MINUTE_MS).toISOString(),
    runs: runsOf(numbers),
    refused,
    cpuMs: rounded(numbers[CPU_MS]!),
    runMs: rounded(numbers[RUN_MS]!),
    egressBytes: numbers[EGRESS_BYTES]!,
    durations: durationsOf(numbers),
  };
}

function inOrder(a: Sum, b: Sum): number {
  return a.start - b.start || compare(a.container, b.container) || compare(a.name, b.name);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Without the digits that sums of binary fractions add. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
