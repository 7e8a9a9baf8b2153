import { reasonOf } from "../sqlite-fault.ts";
import type { FailurePage, RecordLosses, RecordStore, StoredPage } from "../store.ts";
import { DayFolder } from "./day-folder.ts";

/** A store that keeps nothing, for `--keep-runs 0s`. It deletes what was kept before. */
export class NoStore implements RecordStore {
  readonly losses: RecordLosses;

  constructor(folder: string) {
    let failure: string | null = null;
    try {
      const days = new DayFolder(folder);
      for (const files of days.files()) days.remove(files);
    } catch (error) {
      failure = reasonOf(error);
    }
    this.losses = { dropped: 0, omitted: 0, unreadable: [], failure };
  }

  add(): void {}

  list(): Promise<StoredPage> {
    return Promise.resolve({ runs: [], next: null, omitted: 0 });
  }

  get(): Promise<null> {
    return Promise.resolve(null);
  }

  failures(): Promise<FailurePage> {
    return Promise.resolve({ groups: [], complete: true, next: null });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
