import type { EndedRun } from "./ended-run.ts";
import { hasFailed, selectsRun } from "./match.ts";
import type { RunQuery } from "./query.ts";
import type { RunRecord } from "./record.ts";
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
    this.#stored = new Map(stored.map((group) => [keyOf(group), group]));
    this.#groups = new Map(stored.map((group) => [keyOf(group), { ...group }]));
  }

  /** Whether all causes have a group. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Adds a run of a container that the query selects, unless it was added or stored before. */
  add(run: EndedRun, query: RunQuery): void {
    if (!hasFailed(run) || !selectsRun(query, run) || this.#seen.has(run.run)) return;
    this.#seen.add(run.run);
    const { record } = run.kept();
    if (record.error === null) return;
    const { code, name, message } = record.error;
    const { container, task, startedAt } = record;
    const cause = { container, task, code, name, frame: frameOf(record) };
    const key = keyOf(cause);
    // The store writes the runs of a group soon after their ends. So a run that began after the last stored run of its
    // group is not stored yet, or was left out.
    const stored = this.#stored.get(key);
    if (stored && startedAt <= stored.lastAt) return;
    const group = this.#groups.get(key);
    if (!group) {
      if (this.#groups.size === MAX_GROUPS) this.#isComplete = false;
      else this.#groups.set(key, { ...cause, message, count: 1, firstAt: startedAt, lastAt: startedAt, run: run.run });
      return;
    }
    group.count += 1;
    if (startedAt < group.firstAt) group.firstAt = startedAt;
    if (startedAt >= group.lastAt) Object.assign(group, { lastAt: startedAt, run: run.run, message });
  }

  /** Returns all groups. The group of the latest failure is first. */
  list(): FailureGroup[] {
    return [...this.#groups.values()].toSorted((a, b) => (a.lastAt < b.lastAt ? 1 : a.lastAt > b.lastAt ? -1 : 0));
  }
}

type Cause = Pick<FailureGroup, "container" | "task" | "code" | "name" | "frame">;

function keyOf({ container, task, code, name, frame }: Cause): string {
  return JSON.stringify([container, task, code, name, frame]);
}

function frameOf({ error }: RunRecord): string | null {
  const at = error?.at;
  return at ? `${at.file}:${at.line}` : null;
}
