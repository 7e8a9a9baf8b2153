import { FailureGroups } from "../../src/records/failure-groups.ts";
import { selectsContainer, selectsRun } from "../../src/records/match.ts";
import { byNewest, type RunQuery } from "../../src/records/query.ts";
import { entryOf, type KeptRun, type RunRecord } from "../../src/records/record.ts";
import type { FailurePage, RecordLosses, RecordStore, StoredPage } from "../../src/records/store.ts";

/** A record store without a disk. It looks at a limited number of records for a page, as a store on disk does. */
export class MemoryRecordStore implements RecordStore {
  readonly losses: RecordLosses = { dropped: 0, omitted: 0, unreadable: [], failure: null };
  readonly added: KeptRun[] = [];
  /** The most records that the search for a page looks at. */
  mostLooked: number = Infinity;
  omitted = 0;
  /** Thrown by each read. */
  failure: Error | null = null;

  add(kept: KeptRun): void {
    this.added.push(kept);
  }

  async list(query: RunQuery): Promise<StoredPage> {
    const runs = this.#inOrder(query);
    const looked = runs.slice(0, this.mostLooked);
    const found = looked.filter((kept) => selectsRun(query, ended(kept)));
    const page = found.slice(0, query.count);
    const last = page.length < found.length ? page.at(-1)! : looked.length < runs.length ? looked.at(-1)! : null;
    return {
      runs: page.map(({ record, startedMs }) => ({ entry: entryOf(record), startedMs })),
      next: last && { startedMs: last.startedMs, run: last.record.run },
      omitted: this.omitted,
    };
  }

  async get(container: string, run: string): Promise<{ record: RunRecord; lineage: readonly string[] } | null> {
    if (this.failure) throw this.failure;
    return this.added.find(({ record }) => record.container === container && record.run === run) ?? null;
  }

  async failures(query: RunQuery): Promise<FailurePage> {
    const groups = new FailureGroups([]);
    const runs = this.#inOrder(query).filter((kept) => selectsRun(query, ended(kept)));
    const looked = runs.slice(0, this.mostLooked);
    for (const kept of looked) groups.add(ended(kept), query);
    const last = looked.length < runs.length ? looked.at(-1)! : null;
    const next = last && { startedMs: last.startedMs, run: last.record.run };
    return { groups: groups.list(), complete: next === null, next };
  }

  async close(): Promise<void> {}

  #inOrder(query: RunQuery): KeptRun[] {
    if (this.failure) throw this.failure;
    const runs = this.added.filter(({ record }) => selectsContainer(query, record.container));
    const { after } = query;
    return runs
      .filter((kept) => after === null || byNewest(after, ended(kept)) < 0)
      .toSorted((a, b) => byNewest(ended(a), ended(b)));
  }
}

function ended(kept: KeptRun): Parameters<FailureGroups["add"]>[0] {
  const { record, family, startedMs } = kept;
  const run: Parameters<FailureGroups["add"]>[0] = {
    ...{ run: record.run, container: record.container, status: record.status, family, startedMs },
    ...{ bytes: 0, lineBytes: 0, isSilent: false, isWhole: true, withoutLines: () => run, kept: () => kept },
  };
  return run;
}
