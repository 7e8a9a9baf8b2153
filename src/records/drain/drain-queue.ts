import { FamilyShares, type Holding } from "../family-shares.ts";

/** A family with queued lines. */
interface FamilyLines {
  /** Oldest first. */
  readonly lines: Set<Line>;
}

interface Line {
  readonly text: string;
  readonly bytes: number;
  readonly holding: Holding<FamilyLines>;
}

/** Lines that are delivered together. */
export interface DrainBatch {
  readonly lines: Buffer;
  readonly count: number;
}

/**
 * The lines that wait for a collector, in the order of their arrival. If they are too many, the family with the most bytes
 * loses lines. So a family that floods a slow collector takes nothing from a smaller one.
 */
export class DrainQueue {
  readonly #mostBytes: number;
  /** Oldest first. */
  readonly #lines = new Set<Line>();
  readonly #holdings = new Map<string, Holding<FamilyLines>>();
  readonly #shares = new FamilyShares<FamilyLines>();
  /** The bytes of all lines, and of the batches that are not released. */
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get length(): number {
    return this.#lines.size;
  }

  /** Whether a line of a family that has at least these bytes may have a place. */
  mayAdd(family: string, bytes: number): boolean {
    if (this.#bytes + bytes <= this.#mostBytes) return true;
    const ofFamily = this.#holdings.get(family)?.share.bytes ?? 0;
    return this.#lines.size > 0 && this.#shares.largest().bytes > ofFamily + bytes;
  }

  /** @param bytes those of the line and its line break. @returns the number of lines that were dropped for it, or itself */
  add(family: string, text: string, bytes: number): number {
    let dropped = 0;
    while (this.#bytes + bytes > this.#mostBytes) {
      if (!this.mayAdd(family, bytes)) return dropped + 1;
      this.#dropOldest();
      dropped += 1;
    }
    let holding = this.#holdings.get(family);
    if (!holding) this.#holdings.set(family, (holding = this.#shares.open(family, { lines: new Set() })));
    const line = { text, bytes, holding };
    this.#lines.add(line);
    holding.container.lines.add(line);
    this.#shares.grow(holding, bytes);
    this.#bytes += bytes;
    return dropped;
  }

  /** Takes the oldest lines. Their bytes count until they are released. @param mostBytes a longer line is a batch by itself */
  take(mostBytes: number): DrainBatch {
    let bytes = 0;
    const taken: string[] = [];
    for (const line of this.#lines) {
      bytes += line.bytes;
      if (taken.length > 0 && bytes > mostBytes) break;
      taken.push(line.text);
      this.#remove(line);
    }
    return { lines: Buffer.from(`${taken.join("\n")}\n`), count: taken.length };
  }

  /** Releases the bytes of a batch. */
  release({ lines }: DrainBatch): void {
    this.#bytes -= lines.length;
  }

  /** @returns the number of lines that are dropped */
  clear(): number {
    const count = this.#lines.size;
    for (const line of this.#lines) {
      this.#remove(line);
      this.#bytes -= line.bytes;
    }
    return count;
  }

  #dropOldest(): void {
    const [oldest] = this.#shares.largest().newest.container.lines;
    this.#remove(oldest!);
    this.#bytes -= oldest!.bytes;
  }

  #remove(line: Line): void {
    const { holding, bytes } = line;
    this.#lines.delete(line);
    holding.container.lines.delete(line);
    this.#shares.grow(holding, -bytes);
    if (holding.container.lines.size > 0) return;
    this.#holdings.delete(holding.share.family);
    this.#shares.close(holding);
  }
}
