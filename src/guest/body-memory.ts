import { uncurry } from "../wire/uncurry.ts";

const NativePromise = Promise;
const includes = uncurry(Array.prototype as unknown[], "includes");

/** V8's heap limit, in bytes. */
const HEAP_BYTES = Number(process.argv[5] ?? 192 * 2 ** 20);
/** What all runs may hold of bodies that are not parsed yet, in bytes. V8 holds them outside of its heap. */
const UNPARSED_BYTES = Math.floor(HEAP_BYTES / 16);
/** What all runs may hold of parsed bodies, in bytes. The tasks have the rest of the heap. */
const PARSED_BYTES = Math.floor(HEAP_BYTES / 2);
/** The largest parsed body, in bytes. A body of more than `PARSED_BYTES` waits until no other run holds one. */
export const MAX_PARSED_BYTES: number = Math.floor((3 * HEAP_BYTES) / 4);
/** The unparsed bytes of each run that count nowhere. All runs of a container hold a few megabytes of them. */
export const FREE_UNPARSED_BYTES: number = 64 * 2 ** 10;
/** The same for parsed bodies. */
const FREE_PARSED_BYTES = 256 * 2 ** 10;

/** The runs that hold or want counted memory, in the order in which they first wanted it. */
let holders: BodyMemory[] = [];
let unparsedBytes = 0;
let parsedBytes = 0;

/**
 * The memory that the body of one run takes, until the run ends. Callers that do not trust each other may run one task, and so share
 * its guest: without a limit for all bodies together, a few large bodies at once would end the guest with the runs of the others. A run
 * whose body does not fit waits.
 */
export class BodyMemory {
  #unparsed = 0;
  #parsed = 0;
  /** The bytes that the run waits for. */
  #wanted = 0;
  #wake: (() => void) | null = null;
  #isReading = true;
  #isReleased = false;

  /** Counts further bytes of an unparsed body. Returns a promise if the run has to wait before it reads on. */
  holdUnparsed(bytes: number): Promise<void> | null {
    return this.#want(bytes);
  }

  /** Counts what a parsed body will take. Returns a promise if the run has to wait before it parses. */
  holdParsed(bytes: number): Promise<void> | null {
    this.#isReading = false;
    if (bytes > FREE_PARSED_BYTES) return this.#want(bytes);
    // The next run may now be the first that reads.
    serve();
    return null;
  }

  /** Frees the memory, when the run has ended. */
  release(): void {
    this.#isReleased = true;
    if (!includes(holders, this)) return;
    unparsedBytes -= this.#unparsed;
    parsedBytes -= this.#parsed;
    const others: BodyMemory[] = [];
    for (let at = 0; at < holders.length; at += 1) if (holders[at] !== this) others[others.length] = holders[at]!;
    holders = others;
    this.#wake?.();
    serve();
  }

  #want(bytes: number): Promise<void> | null {
    // A piece may have arrived with the frame that ended the run.
    if (this.#isReleased) return null;
    if (!includes(holders, this)) holders[holders.length] = this;
    this.#wanted = bytes;
    serve();
    if (this.#wanted === 0) return null;
    return new NativePromise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Gives the run what it wants, if that fits. @param isFirst whether no earlier run reads, or waits to parse */
  static serveOne(holder: BodyMemory, isFirst: boolean): void {
    const bytes = holder.#wanted;
    if (bytes === 0) return;
    if (holder.#isReading) {
      // The first always reads on. Otherwise runs that have read a part could wait for each other.
      if (!isFirst && unparsedBytes + bytes > UNPARSED_BYTES) return;
      unparsedBytes += bytes;
      holder.#unparsed += bytes;
    } else {
      // In order, so that small bodies do not keep a large one waiting.
      if (!isFirst || (parsedBytes > 0 && parsedBytes + bytes > PARSED_BYTES)) return;
      parsedBytes += bytes;
      holder.#parsed = bytes;
    }
    holder.#wanted = 0;
    holder.#wake?.();
    holder.#wake = null;
  }

  static isReading(holder: BodyMemory): boolean {
    return holder.#isReading;
  }

  static waits(holder: BodyMemory): boolean {
    return holder.#wanted > 0;
  }
}

function serve(): void {
  let isFirstReading = true;
  let isFirstParsing = true;
  for (let at = 0; at < holders.length; at += 1) {
    const holder = holders[at]!;
    const isReading = BodyMemory.isReading(holder);
    BodyMemory.serveOne(holder, isReading ? isFirstReading : isFirstParsing);
    if (isReading) isFirstReading = false;
    else if (BodyMemory.waits(holder)) isFirstParsing = false;
  }
}
