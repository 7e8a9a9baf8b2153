import { uncurry } from "../wire/uncurry.ts";

const NativePromise = Promise;
const includes = uncurry(Array.prototype as unknown[], "includes");
const slice = uncurry(Array.prototype as number[], "slice");

/** V8's heap limit, in bytes. */
const HEAP_BYTES = Number(process.argv[5] ?? 192 * 2 ** 20);
/** What all runs may hold of the bytes of bodies. V8 holds them outside of its heap. */
const UNPARSED_BYTES = Math.floor(HEAP_BYTES / 8);
/** What all runs may hold of parsed bodies, in bytes. The tasks have the rest of the heap. */
const PARSED_BYTES = Math.floor(HEAP_BYTES / 2);
/** Further memory for small bodies alone, so that they need not wait for runs that hold large ones: of bytes, and of parsed bodies. */
const SMALL_UNPARSED_BYTES = Math.floor(HEAP_BYTES / 64);
const SMALL_PARSED_BYTES = Math.floor(HEAP_BYTES / 16);
/** The largest small body: its bytes, and parsed. */
const SMALL_BODY_BYTES = Math.floor(HEAP_BYTES / 256);
const SMALL_VALUE_BYTES = Math.floor(HEAP_BYTES / 64);
/** The largest parsed body, in bytes. A body of more than `PARSED_BYTES` waits until no other run holds a large one. */
export const MAX_PARSED_BYTES: number = Math.floor((3 * HEAP_BYTES) / 4) - SMALL_PARSED_BYTES;
/** The unparsed bytes of each run that count nowhere. All runs of a container hold a few megabytes of them. */
export const FREE_UNPARSED_BYTES: number = 64 * 2 ** 10;
/** The same for parsed bodies. */
const FREE_PARSED_BYTES = 256 * 2 ** 10;

/** The runs that hold or want counted memory, in the order in which they first wanted it. */
let holders: BodyMemory[] = [];
/** The callers whose runs got memory for a large parsed body, the latest last. */
let recent: number[] = [];
const MOST_RECENT = 64;

/**
 * The memory that the body of one run takes, until the run ends. Callers that do not trust each other may run one task, and so share
 * its guest: without a limit for all bodies together, a few large bodies at once would end the guest with the runs of the others. A run
 * whose body does not fit waits. Callers take turns, and small bodies have memory that large ones cannot take.
 */
export class BodyMemory {
  /** The caller of the run, as a number. */
  readonly caller: number;
  /** The held bytes of the body, without those in the memory for small bodies. */
  unparsed = 0;
  smallUnparsed = 0;
  /** What the parsed body takes, in the memory for all bodies or in that for small ones. */
  parsed = 0;
  smallParsed = 0;
  /** The bytes that the run waits for. */
  wanted = 0;
  isReading = true;
  #wake: (() => void) | null = null;
  #isReleased = false;

  constructor(caller: number) {
    this.caller = caller;
  }

  /** Counts further bytes of an unparsed body. Returns a promise if the run has to wait before it reads on. */
  holdUnparsed(bytes: number): Promise<void> | null {
    return this.#want(bytes);
  }

  /** Counts what a parsed body will take. Returns a promise if the run has to wait before it parses. */
  holdParsed(bytes: number): Promise<void> | null {
    this.isReading = false;
    if (bytes > FREE_PARSED_BYTES) return this.#want(bytes);
    // The next run may now be the first that reads.
    serve();
    return null;
  }

  /** Frees the memory, when the run has ended. */
  release(): void {
    this.#isReleased = true;
    if (!includes(holders, this)) return;
    const others: BodyMemory[] = [];
    for (let at = 0; at < holders.length; at += 1) if (holders[at] !== this) others[others.length] = holders[at]!;
    holders = others;
    this.#wake?.();
    serve();
  }

  /** Lets the run read on or parse. */
  serve(): void {
    this.wanted = 0;
    this.#wake?.();
    this.#wake = null;
  }

  #want(bytes: number): Promise<void> | null {
    // A piece may have arrived with the frame that ended the run.
    if (this.#isReleased) return null;
    if (!includes(holders, this)) holders[holders.length] = this;
    this.wanted = bytes;
    serve();
    if (this.wanted === 0) return null;
    return new NativePromise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Gives the runs that wait what they want, as far as it fits. */
function serve(): void {
  const order = inTurns();
  serveReading(order);
  serveParsing(order);
}

/** Returns the holders in turns of their callers: the first run of each caller, beginning with the caller that has waited longest, then the second ones. */
function inTurns(): readonly BodyMemory[] {
  const order: BodyMemory[] = [];
  const keys: number[] = [];
  for (let at = 0; at < holders.length; at += 1) {
    const holder = holders[at]!;
    const key = earlierOf(holder.caller, at) * (MOST_RECENT + 1) + recencyOf(holder.caller);
    let place = order.length;
    for (; place > 0 && keys[place - 1]! > key; place -= 1) {
      keys[place] = keys[place - 1]!;
      order[place] = order[place - 1]!;
    }
    keys[place] = key;
    order[place] = holder;
  }
  return order;
}

/** Returns how many runs of the caller stand before a place in `holders`. */
function earlierOf(caller: number, before: number): number {
  let earlier = 0;
  for (let at = 0; at < before; at += 1) if (holders[at]!.caller === caller) earlier += 1;
  return earlier;
}

/** Returns a number that is larger the later a run of the caller last got memory for a large body; 0 if that is long ago. */
function recencyOf(caller: number): number {
  for (let at = 0; at < recent.length; at += 1) if (recent[at] === caller) return at + 1;
  return 0;
}

/** Notes that a run of the caller has got memory for a large body. */
function noteTurn(caller: number): void {
  const next: number[] = [];
  for (let at = 0; at < recent.length; at += 1) if (recent[at] !== caller) next[next.length] = recent[at]!;
  next[next.length] = caller;
  recent = next.length > MOST_RECENT ? slice(next, 1) : next;
}

function serveReading(order: readonly BodyMemory[]): void {
  let complete = 0;
  let held = 0;
  let small = 0;
  for (let at = 0; at < order.length; at += 1) {
    const { unparsed, smallUnparsed, isReading } = order[at]!;
    held += unparsed;
    small += smallUnparsed;
    if (!isReading) complete += unparsed;
  }
  // The first always reads on, because runs that have read a part could wait for each other. Bodies that arrived completely do not
  // wait for a body that arrives.
  let isFirst = complete <= UNPARSED_BYTES;
  for (let at = 0; at < order.length; at += 1) {
    const holder = order[at]!;
    const bytes = holder.wanted;
    if (!holder.isReading) continue;
    if (bytes > 0 && (isFirst || held + bytes <= UNPARSED_BYTES)) {
      holder.unparsed += bytes;
      held += bytes;
      holder.serve();
    } else if (bytes > 0 && holder.unparsed + holder.smallUnparsed + bytes <= SMALL_BODY_BYTES) {
      if (fits(bytes, smallOf(order, holder.caller, "smallUnparsed"), SMALL_UNPARSED_BYTES - small)) {
        holder.smallUnparsed += bytes;
        small += bytes;
        holder.serve();
      }
    }
    isFirst = false;
  }
}

function serveParsing(order: readonly BodyMemory[]): void {
  let held = 0;
  let small = 0;
  for (let at = 0; at < order.length; at += 1) {
    held += order[at]!.parsed;
    small += order[at]!.smallParsed;
  }
  // In order, so that small bodies do not keep a large one waiting.
  let isFirst = true;
  for (let at = 0; at < order.length; at += 1) {
    const holder = order[at]!;
    const bytes = holder.wanted;
    if (holder.isReading || bytes === 0) continue;
    if (isFirst && (held === 0 || held + bytes <= PARSED_BYTES)) {
      holder.parsed = bytes;
      held += bytes;
      if (bytes > SMALL_VALUE_BYTES) noteTurn(holder.caller);
      holder.serve();
      continue;
    }
    isFirst = false;
    if (bytes > SMALL_VALUE_BYTES) continue;
    if (!fits(bytes, smallOf(order, holder.caller, "smallParsed"), SMALL_PARSED_BYTES - small)) continue;
    holder.smallParsed = bytes;
    small += bytes;
    holder.serve();
  }
}

/** Whether a caller that holds some may have more of the memory for small bodies: at most as much as is left for all. */
function fits(bytes: number, own: number, left: number): boolean {
  return bytes <= left && (own === 0 || own + bytes <= left);
}

/** Returns what a caller holds of the memory for small bodies. */
function smallOf(order: readonly BodyMemory[], caller: number, what: "smallUnparsed" | "smallParsed"): number {
  let held = 0;
  for (let at = 0; at < order.length; at += 1) if (order[at]!.caller === caller) held += order[at]![what];
  return held;
}
