import type { RecordConfig } from "../config/groups/records.ts";
import type { EndedRun } from "./ended-run.ts";
import { FamilyShares, type Holding } from "./family-shares.ts";
import { TrimmedRun } from "./trimmed-run.ts";

/** The approximate memory of a run beyond what `bytes` counts: its objects and its slot. */
export const RUN_BYTES = 320;
/** The approximate memory of a container for each of its families. It also bounds the number of names. */
export const CONTAINER_BYTES = 1_024;

/** The memory of all runs in bytes, the most runs of a container, and the most bytes of its console lines. */
export type RecentBounds = Pick<RecordConfig, "recentRuns" | "containerRuns" | "consoleLimit">;

/**
 * The latest runs of each container, in memory. When the memory is full, the family with the most bytes loses the runs of
 * its least recently used container. So a family that uses ten thousand names takes nothing from a smaller family.
 */
export class RecentRuns {
  readonly #bounds: RecentBounds;
  readonly #containers = new Map<string, Container>();
  readonly #shares = new FamilyShares<Container>();

  constructor(bounds: RecentBounds) {
    this.#bounds = bounds;
  }

  /** The approximate memory of all runs. */
  get bytes(): number {
    return this.#shares.bytes;
  }

  /** Adds a run that has ended. From now on, only `hintLate` may change its `bytes`. */
  add(run: EndedRun): void {
    const container = this.#containers.get(run.container) ?? this.#open(run.container);
    const holding = container.holdings.get(run.family) ?? this.#hold(container, run.family);
    this.#shares.use(holding);
    this.#shares.grow(holding, run.bytes + RUN_BYTES);
    holding.runs += 1;
    container.runs.push(run);
    if (container.runs.length > this.#bounds.containerRuns) this.#drop(container, container.runs.shift()!);
    if (!run.isSilent) this.#trimLines(container, run);
    while (this.#shares.bytes > this.#bounds.recentRuns) this.#evict();
  }

  /** Returns the runs of a container in the order of their ends. The array is valid until the next call of `add`. */
  of(container: string): readonly EndedRun[] {
    return this.#containers.get(container)?.runs ?? NO_RUNS;
  }

  /** Returns a run. Its record may have lost console lines: see `isWhole` of the run. */
  find(container: string, run: string): EndedRun | null {
    return this.of(container).findLast((each) => each.run === run) ?? null;
  }

  /** Adds a hint to the record of a run that has ended, if the run is in memory. */
  hintLate(container: string, run: string, hint: string): void {
    const found = this.find(container, run);
    const bytes = found?.hintLate?.(hint) ?? 0;
    if (found && bytes > 0) this.#shares.grow(this.#containers.get(container)!.holdings.get(found.family)!, bytes);
  }

  /** The names of all containers. */
  names(): IterableIterator<string> {
    return this.#containers.keys();
  }

  #open(name: string): Container {
    const container: Container = { name, runs: [], lineBytes: 0, holdings: new Map() };
    this.#containers.set(name, container);
    return container;
  }

  #hold(container: Container, family: string): Holding<Container> {
    const holding = this.#shares.open(family, container);
    container.holdings.set(family, holding);
    this.#shares.grow(holding, CONTAINER_BYTES);
    return holding;
  }

  /** Releases a run that was taken out of `runs`. */
  #drop(container: Container, run: EndedRun): void {
    const holding = container.holdings.get(run.family)!;
    container.lineBytes -= run.lineBytes;
    this.#shares.grow(holding, -run.bytes - RUN_BYTES);
    holding.runs -= 1;
    if (holding.runs > 0) return;
    this.#shares.grow(holding, -CONTAINER_BYTES);
    this.#shares.close(holding);
    container.holdings.delete(run.family);
    if (container.holdings.size === 0) this.#containers.delete(container.name);
  }

  /** Removes lines of the oldest runs until the container is within its limit. Their records stay. */
  #trimLines(container: Container, newest: EndedRun): void {
    container.lineBytes += newest.lineBytes;
    const { runs } = container;
    for (let at = 0; container.lineBytes > this.#bounds.consoleLimit && at < runs.length; at++) {
      const run = runs[at]!;
      const { bytes, lineBytes } = run;
      if (lineBytes === 0) continue;
      const trimmed = run === newest ? new TrimmedRun(run, this.#bounds.consoleLimit) : run.withoutLines();
      runs[at] = trimmed;
      container.lineBytes += trimmed.lineBytes - lineBytes;
      this.#shares.grow(container.holdings.get(run.family)!, trimmed.bytes - bytes);
    }
  }

  #evict(): void {
    const { oldest, newest } = this.#shares.largest();
    // The container in use loses its older half only, because its latest runs are what a developer looks for.
    const count = oldest === newest ? Math.ceil(oldest.runs / 2) : oldest.runs;
    const { container, share } = oldest;
    const dropped: EndedRun[] = [];
    container.runs = container.runs.filter((run) => {
      if (dropped.length === count || run.family !== share.family) return true;
      dropped.push(run);
      return false;
    });
    for (const run of dropped) this.#drop(container, run);
  }
}

interface Container {
  readonly name: string;
  /** In the order of their ends. */
  runs: EndedRun[];
  /** The bytes of the runs that may have console lines. */
  lineBytes: number;
  /** What each family holds here, by family. */
  readonly holdings: Map<string, Holding<Container>>;
}

const NO_RUNS: readonly EndedRun[] = [];
