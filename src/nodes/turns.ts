import { FairQueue } from "../fair-queue.ts";
import { type ReadBounds, ReadPlaces } from "../records/read-places.ts";

/** Limits how many reads of other nodes run at once, because a client causes with each of them work on all nodes. */
export class Turns {
  readonly #places: ReadPlaces;
  readonly #all: FairQueue;
  readonly #ofFamily: number;
  readonly #families = new Map<string, { readonly queue: FairQueue; count: number }>();

  /** @param readsAtOnce the reads of all families at once; one family has half of them. Each asks every node. */
  constructor({ readsAtOnce, ...bounds }: ReadBounds & { readonly readsAtOnce: number }) {
    this.#places = new ReadPlaces(bounds, "reads of other nodes");
    this.#all = new FairQueue(readsAtOnce);
    this.#ofFamily = Math.ceil(readsAtOnce / 2);
  }

  /** @throws {Problem} `token_limited`, `overloaded` if too many reads wait; or the error of the work. */
  run<T>(family: string, work: () => Promise<T>): Promise<T> {
    return this.#places.hold(family, () => this.#run(family, work));
  }

  async #run<T>(family: string, work: () => Promise<T>): Promise<T> {
    const line = this.#families.get(family) ?? { queue: new FairQueue(this.#ofFamily), count: 0 };
    this.#families.set(family, line);
    line.count += 1;
    try {
      return await line.queue.run("", () => this.#all.run(family, work));
    } finally {
      line.count -= 1;
      if (line.count === 0) this.#families.delete(family);
    }
  }
}
