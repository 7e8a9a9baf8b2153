import type { EndedRun } from "./ended-run.ts";
import { causeOf, failureOf, isFailure } from "./failure-cause.ts";
import { selectsRun } from "./match.ts";
import type { RunQuery } from "./query.ts";
import type { FailureGroup } from "./store.ts";

/** The most groups of an answer: stops a task that throws an error with a new name in each run. */
export const MAX_GROUPS = 1_000;

/**
 * Groups of failures by their cause. Begins with the groups of the store, and adds the failed runs in memory that the store
 * has not counted.
 */
export class FailureGroups {
  readonly #stored: ReadonlyMap<string, FailureGroup>;
  readonly #groups: Map<string, { -readonly [Member in keyof FailureGroup]: FailureGroup[Member] }>;
  readonly #seen = new Set<string>();
  #isComplete = true;

  constructor(stored: readonly FailureGroup[]) {
    this.#stored = new Map(stored.map((group) => [causeOf(group), group]));
    this.#groups = new Map(stored.map((group) => [causeOf(group), { ...group }]));
  }

  /** Whether all causes have a group. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Adds a run of a container that the query selects, unless it was added or stored before. */
  add(run: EndedRun, query: RunQuery): void {
    if (!isFailure(run.status) || !selectsRun(query, run) || this.#seen.has(run.run)) return;
    this.#seen.add(run.run);
    const failure = failureOf(run.kept().record);
    const cause = causeOf(failure);
    // The store writes the runs of a group soon after their ends. So a run that began after the last stored run of its
    // group is not stored yet, or was left out.
    const stored = this.#stored.get(cause);
    if (stored && failure.lastAt <= stored.lastAt) return;
    const group = this.#groups.get(cause);
    if (!group) {
      if (this.#groups.size >= MAX_GROUPS) this.#isComplete = false;
      else this.#groups.set(cause, failure);
      return;
    }
    group.count += 1;
    if (failure.firstAt < group.firstAt) group.firstAt = failure.firstAt;
    if (failure.lastAt < group.lastAt) return;
    group.lastAt = failure.lastAt;
    group.run = failure.run;
    group.message = failure.message;
  }

  /** Returns all groups. The group of the latest failure is first. */
  list(): FailureGroup[] {
    return [...this.#groups.values()].toSorted((a, b) => (a.lastAt < b.lastAt ? 1 : a.lastAt > b.lastAt ? -1 : 0));
  }
}
