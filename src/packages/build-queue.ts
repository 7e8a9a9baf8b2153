import { Problem } from "../errors.ts";
import { FairQueue } from "../fair-queue.ts";
import type { Builder, BuildOrder, Built } from "./model.ts";

/** The end of a build, for the log and the metrics. */
export interface BuildReport {
  readonly order: BuildOrder;
  readonly ms: number;
  readonly built: Built | null;
  readonly error: unknown;
}

/** A build that waits or runs. */
export interface OpenBuild {
  readonly order: BuildOrder;
  /** Unix milliseconds. */
  readonly orderedAt: number;
  /** Null while it waits. */
  startedAt: number | null;
}

export interface BuildQueueOptions {
  /** The longest time of one build, in milliseconds. */
  readonly timeMs: number;
  /** The most builds at once. */
  readonly mostAtOnce: number;
  readonly onBuilt?: ((report: BuildReport) => void) | undefined;
  /** The clock, in Unix milliseconds. */
  readonly nowMs?: (() => number) | undefined;
}

/** The most builds of one family that wait or run: a family that names many sets must not fill the queue. */
const MAX_OF_FAMILY = 4;
/** The most builds that wait or run. */
const MAX_BUILDS = 64;
/** How long a client should wait before it asks again. */
export const RETRY_MS = 2_000;

/** The queue in front of the builder: a few builds at a time, at most one of each token family, and token families take turns. */
export class BuildQueue {
  readonly #builder: Builder;
  readonly #options: BuildQueueOptions;
  readonly #nowMs: () => number;
  readonly #builds: FairQueue;
  /** The builds that wait or run, in the order of their orders, with what ends them. */
  readonly #open = new Map<OpenBuild, AbortController>();

  constructor(builder: Builder, options: BuildQueueOptions) {
    this.#builder = builder;
    this.#builds = new FairQueue(options.mostAtOnce, 1);
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
  }

  get version(): string {
    return this.#builder.version;
  }

  /** The number of builds that wait or run. */
  get size(): number {
    return this.#open.size;
  }

  /** Returns the builds that wait or run: the running one first, then by the time of their orders. @param family null for all */
  builds(family: string | null): readonly Readonly<OpenBuild>[] {
    const builds = [...this.#open.keys()].filter(({ order }) => family === null || order.holder === family);
    return builds.toSorted((a, b) => Number(a.startedAt === null) - Number(b.startedAt === null));
  }

  /** @throws {Problem} as `Builder.build`, and `packages_building` if too many builds wait */
  async build(order: BuildOrder): Promise<Built> {
    const { holder } = order;
    const own = this.builds(holder).length;
    if (own >= MAX_OF_FAMILY) throw building(`the token family has ${own} builds of packages under way`);
    if (this.size >= MAX_BUILDS) throw building(`${this.size} builds of packages are under way`);
    const build: OpenBuild = { order, orderedAt: this.#nowMs(), startedAt: null };
    const ending = new AbortController();
    this.#open.set(build, ending);
    const begin = (): Promise<Built> => {
      build.startedAt = this.#nowMs();
      return this.#build(order, ending.signal);
    };
    try {
      return await this.#builds.run(holder, begin, ending.signal);
    } finally {
      this.#open.delete(build);
    }
  }

  /**
   * Ends builds that wait or run. Tokens of the family that wait for the same build may order it again.
   *
   * @param hasEnded whether the token that ordered the build was revoked
   */
  end(hasEnded: (caller: object) => boolean): void {
    for (const [{ order }, ending] of this.#open) {
      if (order.caller && hasEnded(order.caller))
        ending.abort(building("the token that ordered the build was revoked"));
    }
  }

  close(): Promise<void> {
    return this.#builder.close();
  }

  async #build(order: BuildOrder, ending: AbortSignal): Promise<Built> {
    const { timeMs, onBuilt } = this.#options;
    const begunMs = performance.now();
    const timeout = AbortSignal.timeout(timeMs);
    const signal = AbortSignal.any([timeout, ending]);
    const report = (built: Built | null, error: unknown): void => {
      onBuilt?.({ order, ms: performance.now() - begunMs, built, error });
    };
    try {
      const built = await this.#builder.build(order, signal);
      report(built, null);
      return built;
    } catch (error) {
      const shown = ending.aborted ? ending.reason : timeout.aborted ? lateOf(timeMs, error) : error;
      report(null, shown);
      throw shown;
    }
  }
}

function lateOf(timeMs: number, cause: unknown): unknown {
  if (cause instanceof Problem) return cause;
  return new Problem("packages_unavailable", `the packages were not fetched and built within ${timeMs} ms`, {
    retryAfterMs: RETRY_MS,
    cause,
  });
}

/** Returns the problem of a run that would have to wait. */
export function building(detail: string, more = ""): Problem {
  const hint = `Send the request again after the time in Retry-After.${more}`;
  return new Problem("packages_building", detail, { retryAfterMs: RETRY_MS, hint });
}
