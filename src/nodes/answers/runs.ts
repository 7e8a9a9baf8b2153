import { z } from "zod";

import { Slices } from "../../next-turn.ts";
import { selectsContainer } from "../../records/match.ts";
import { byNewest, type Cursor, parseCursor, type RunQuery } from "../../records/query.ts";
import type { RunEntry } from "../../records/record.ts";
import { HISTORIES, type ListedRun, type RunPage } from "../../records/records.ts";
import type { AnswerReader } from "../ask-node.ts";
import { worstHistory } from "./history.ts";
import { type AnswerKind, foreign } from "./kind.ts";
import { READ_MEMBERS } from "./read-members.ts";

/** The most characters of the entries of one node. */
const MAX_PAGE_CHARS = 2 * 2 ** 20;

/** Pages of runs. */
export function runPages(query: RunQuery): AnswerKind<RunPage> {
  return {
    write: writePage,
    newReader: () => new PageReader(query),
    merge: (pages) => Promise.resolve(mergePages(pages, query.count)),
  };
}

async function writePage({ runs, next, omitted, history }: RunPage, family: string): Promise<string> {
  const slices = new Slices(family);
  let text = "";
  let last = next;
  for (const [at, { startedMs, entry }] of runs.entries()) {
    if (slices.hasEnded) await slices.next();
    if (text.length > MAX_PAGE_CHARS) {
      last = runs[at - 1]!;
      break;
    }
    text += `${JSON.stringify([startedMs, entry()])}\n`;
  }
  const after = last && `${last.startedMs}.${last.run}`;
  return `${text}${JSON.stringify({ next: after, omitted, history })}\n`;
}

const entryLine = z.tuple([z.int().nonnegative(), z.looseObject(READ_MEMBERS)]);
const endLine = z.object({
  next: z.string().nullable(),
  omitted: z.int().nonnegative(),
  history: z.enum(HISTORIES),
});

class PageReader implements AnswerReader<RunPage> {
  readonly #query: RunQuery;
  readonly #runs: ListedRun[] = [];
  #end: Omit<RunPage, "runs"> | null = null;

  constructor(query: RunQuery) {
    this.#query = query;
  }

  line(value: unknown): void {
    if (this.#end !== null) throw foreign();
    if (!Array.isArray(value)) {
      const { next, ...rest } = endLine.parse(value);
      this.#end = { ...rest, next: next === null ? null : this.#cursor(next) };
      return;
    }
    const [startedMs, entry] = entryLine.parse(value);
    const { run } = this.#cursor(`${startedMs}.${entry.run}`);
    if (this.#runs.length === this.#query.count || !selectsContainer(this.#query, entry.container)) throw foreign();
    this.#runs.push({ run, startedMs, entry: () => entry as unknown as RunEntry });
  }

  end(): RunPage {
    if (this.#end === null) throw foreign();
    return { ...this.#end, runs: this.#runs };
  }

  /** Parses a cursor. It must be after that of the query, or a reader of all pages would never reach their end. */
  #cursor(text: string): Cursor {
    const cursor = parseCursor(text);
    const { after } = this.#query;
    if (cursor === null || (after !== null && byNewest(after, cursor) >= 0)) throw foreign();
    return cursor;
  }
}

function mergePages(pages: readonly RunPage[], count: number): RunPage {
  // Beyond the end of a page may be runs of its node that are newer than those of the other pages.
  const ends = pages.flatMap(({ next }) => (next === null ? [] : [next])).toSorted(byNewest);
  const next = ends[0] ?? null;
  const found = new Map(pages.flatMap(({ runs }) => runs.map((run) => [run.run, run] as const)));
  const inOrder = [...found.values()].toSorted(byNewest);
  const reached = next === null ? inOrder : inOrder.filter((run) => byNewest(run, next) <= 0);
  const runs = reached.slice(0, count);
  return {
    runs,
    next: runs.length < reached.length ? runs.at(-1)! : next,
    omitted: pages.reduce((sum, { omitted }) => sum + omitted, 0),
    history: worstHistory(pages),
  };
}
