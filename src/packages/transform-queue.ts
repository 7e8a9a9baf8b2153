import { FairQueue } from "../fair-queue.ts";
import { building } from "./build-queue.ts";
import type { Builder, Rejection, Text } from "./model.ts";

/** The most transforms of one family that wait or run. All texts of one code have 256 KiB at most. */
const MAX_OF_FAMILY = 16;
/** The memory for the texts of all transforms that wait or run. */
const MAX_BYTES = 32 * 2 ** 20;
/** The estimated memory of a transform in addition to its text. */
const OVERHEAD_BYTES = 1_024;

interface Waiting {
  readonly bytes: number;
  readonly dropped: AbortController;
}

/** The queue in front of the builder for texts. Token families take turns, and share the memory for what waits. */
export class TransformQueue {
  readonly #builder: Pick<Builder, "transform">;
  /**
   * A family has one transform at a time: a text on which esbuild never ends holds its slot until the deadline, and must not hold
   * the slots of others.
   */
  readonly #slots: FairQueue;
  /** The transforms of each family that wait or run, the oldest first. */
  readonly #open = new Map<string, Set<Waiting>>();
  #bytes = 0;
  readonly #maxBytes: number;

  /** @param mostAtOnce the most transforms at once */
  constructor(builder: Pick<Builder, "transform">, mostAtOnce: number, maxBytes: number = MAX_BYTES) {
    this.#builder = builder;
    this.#slots = new FairQueue(mostAtOnce, 1);
    this.#maxBytes = maxBytes;
  }

  /**
   * As `Builder.transform`.
   *
   * @throws {Problem} as `Builder.transform`, and `packages_building` if too many transforms wait
   */
  async transform(texts: readonly Text[], holder: string, signal: AbortSignal): Promise<readonly string[] | Rejection> {
    const own = this.#open.get(holder) ?? new Set();
    if (own.size >= MAX_OF_FAMILY) throw building(`the token family has ${own.size} codes that wait for the builder`);
    const bytes = texts.reduce((sum, { text }) => sum + 2 * text.length + OVERHEAD_BYTES, 0);
    const waiting = { bytes, dropped: new AbortController() };
    this.#makeRoom(waiting.bytes, waiting.bytes + bytesOf(own));
    this.#open.set(holder, own.add(waiting));
    this.#bytes += waiting.bytes;
    const ended = AbortSignal.any([signal, waiting.dropped.signal]);
    try {
      return await this.#slots.run(holder, () => this.#builder.transform(texts, holder, ended), ended);
    } finally {
      this.#remove(holder, waiting);
    }
  }

  /** Drops texts of the family that holds the most. @param own the bytes that the asking family would hold with its text */
  #makeRoom(added: number, own: number): void {
    while (this.#bytes + added > this.#maxBytes) {
      const held = [...this.#open].map(([holder, open]) => ({ holder, open, bytes: bytesOf(open) }));
      const most = held.toSorted((a, b) => b.bytes - a.bytes)[0];
      if (!most || most.bytes <= own) throw building("too many texts wait for the builder");
      const newest = [...most.open].at(-1)!;
      this.#remove(most.holder, newest);
      newest.dropped.abort(building("too many texts of the token family wait for the builder"));
    }
  }

  #remove(holder: string, waiting: Waiting): void {
    const open = this.#open.get(holder);
    if (!open?.delete(waiting)) return;
    this.#bytes -= waiting.bytes;
    if (open.size === 0) this.#open.delete(holder);
  }
}

function bytesOf(open: ReadonlySet<Waiting>): number {
  let bytes = 0;
  for (const each of open) bytes += each.bytes;
  return bytes;
}
