import { type Cursor, HIGHEST_RUN, type RunQuery } from "../query.ts";
import type { RunEntry } from "../record.ts";
import { isPassing } from "../sqlite-fault.ts";
import type { DayFolder } from "./day-folder.ts";
import { DayReader } from "./day-reader.ts";
import { DAY_MS, type Day, nameOf } from "./day.ts";
import { RunFilter } from "./run-filter.ts";

/** What one read may cost. */
interface Limits {
  /** The most stored runs that it looks at, whether they match or not. */
  readonly looks: number;
  /** The time after which it ends with what it has found, without the time between its steps. */
  readonly ms: number;
  /** The time of a step, after which other reads have their turn. */
  readonly stepMs: number;
}

const LIMITS: Limits = { looks: 20_000, ms: 2_000, stepMs: 25 };

export interface WalkOptions {
  readonly failedOnly: boolean;
  /** The family whose omitted runs in containers without a name count too. */
  readonly reader: string | null;
}

export interface FoundRun {
  readonly startedMs: number;
  readonly run: string;
  readonly entry: RunEntry;
  /** The entry as it is stored. */
  readonly json: string;
}

/** Walks over the stored runs that match a query, from the newest. It stops early after many looks or a long time. */
export class Walk {
  /** Names of the files that could not be read. */
  readonly unreadable: string[] = [];
  /** The runs of the days so far that were left out. */
  omitted = 0;
  /** The position after which another walk continues; null if this walk has reached the end. */
  stoppedAt: Cursor | null = null;
  readonly #folder: DayFolder;
  readonly #options: WalkOptions;
  readonly #filter: RunFilter;
  readonly #after: Cursor;
  readonly #sinceMs: number;
  readonly #stepMs: number;
  #endMs: number;
  #stepEndMs: number;
  #looksLeft: number;

  constructor(folder: DayFolder, query: RunQuery, options: WalkOptions, limits: Partial<Limits> = {}) {
    const { looks, ms, stepMs } = { ...LIMITS, ...limits };
    this.#folder = folder;
    this.#options = options;
    this.#filter = new RunFilter(query);
    this.#after = startOf(query);
    this.#sinceMs = query.sinceMs ?? 0;
    const nowMs = performance.now();
    this.#endMs = nowMs + ms;
    this.#stepMs = stepMs;
    this.#stepEndMs = nowMs + stepMs;
    this.#looksLeft = looks;
  }

  /** Yields the runs, and null at the end of each step. */
  *runs(): Generator<FoundRun | null> {
    const from = this.#after.startedMs;
    const days = this.#folder.days().filter((day) => day * DAY_MS <= from && (day + 1) * DAY_MS > this.#sinceMs);
    for (const [at, day] of days.entries()) {
      // Not before the first day: each walk must bring its reader further.
      if (at > 0 && this.#isSpent) {
        this.stoppedAt = { startedMs: (day + 1) * DAY_MS - 1, run: HIGHEST_RUN };
        return;
      }
      yield* this.#runsOf(day);
      if (this.stoppedAt) return;
    }
  }

  *#runsOf(day: Day): Generator<FoundRun | null> {
    let file: DayReader | null = null;
    try {
      file = DayReader.open(this.#folder.pathOf(day));
      if (!file) return;
      this.omitted += file.omitted(this.#filter, this.#options.reader);
      const range = { after: this.#after, sinceMs: this.#sinceMs, failedOnly: this.#options.failedOnly };
      for (const head of file.heads(this.#filter, range)) {
        this.#looksLeft -= 1;
        if (this.#filter.matchesHead(head)) {
          const { entry: json, detail } = file.read(head.id);
          const { startedMs, run } = head;
          const entry = JSON.parse(json) as RunEntry;
          if (this.#filter.matchesText(entry, detail)) yield { startedMs, run, entry, json };
        }
        if (this.#isSpent) {
          this.stoppedAt = { startedMs: head.startedMs, run: head.run };
          return;
        }
        const nowMs = performance.now();
        if (nowMs < this.#stepEndMs) continue;
        yield null;
        const againMs = performance.now();
        this.#endMs += againMs - nowMs;
        this.#stepEndMs = againMs + this.#stepMs;
      }
    } catch (error) {
      if (isPassing(error)) throw error;
      this.unreadable.push(nameOf(day));
    } finally {
      file?.close();
    }
  }

  get #isSpent(): boolean {
    return this.#looksLeft <= 0 || performance.now() >= this.#endMs;
  }
}

/** Returns the position after which the runs of a query begin. */
function startOf({ after, untilMs }: RunQuery): Cursor {
  const until = { startedMs: untilMs ?? Number.MAX_SAFE_INTEGER, run: "" };
  return after && after.startedMs < until.startedMs ? after : until;
}
