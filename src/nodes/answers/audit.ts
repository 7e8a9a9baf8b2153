import { z } from "zod";

import {
  type AuditCursor,
  type AuditEntry,
  type AuditPage,
  type AuditQuery,
  parseAuditCursor,
} from "../../records/audit/audit.ts";
import type { AnswerReader } from "../ask-node.ts";
import { type AnswerKind, foreign, writeLines } from "./kind.ts";

/** Pages of the audit. */
export function auditPages(query: AuditQuery): AnswerKind<AuditPage> {
  return {
    write: (page, family) => writeLines([...placed(page), { next: page.next }], family),
    newReader: () => new PageReader(query),
    merge: (pages) => Promise.resolve(mergePages(pages, query.count)),
  };
}

/** An entry and its place in the order of its node. */
interface PlacedEntry extends AuditCursor {
  readonly entry: AuditEntry;
}

const entryLine: z.ZodType<PlacedEntry> = z.strictObject({
  atMs: z.int().nonnegative(),
  id: z.int().nonnegative(),
  entry: z.strictObject({
    at: z.iso.datetime(),
    action: z.string(),
    by: z.string().nullable(),
    client: z.string().nullable(),
    details: z.record(z.string(), z.unknown()),
  }),
});
const endLine = z.strictObject({ next: z.string().nullable() });

class PageReader implements AnswerReader<AuditPage> {
  readonly #query: AuditQuery;
  readonly #entries: PlacedEntry[] = [];
  #end: Pick<AuditPage, "next"> | null = null;

  constructor(query: AuditQuery) {
    this.#query = query;
  }

  line(value: unknown): void {
    if (this.#end !== null) throw foreign();
    const end = endLine.safeParse(value);
    if (end.success) {
      const next = end.data.next === null ? null : parseAuditCursor(end.data.next);
      if (end.data.next !== null && (next === null || !this.#isAfter(next))) throw foreign();
      this.#end = end.data;
      return;
    }
    const entry = entryLine.parse(value);
    if (this.#entries.length === this.#query.count || !this.#isAfter(entry)) throw foreign();
    this.#entries.push(entry);
  }

  end(): AuditPage {
    if (this.#end === null) throw foreign();
    return { ...this.#end, ...unplaced(this.#entries) };
  }

  /** Whether a place is after the cursor of the query: a reader of all pages must reach their end. */
  #isAfter(place: AuditCursor): boolean {
    const { after } = this.#query;
    return after === null || byNewest(after, place) < 0;
  }
}

function mergePages(pages: readonly AuditPage[], count: number): AuditPage {
  // Beyond the end of a page may be entries of its node that are newer than those of the other pages.
  const ends = pages.flatMap(({ next }) => (next === null ? [] : [parseAuditCursor(next)!])).toSorted(byNewest);
  const end = ends[0] ?? null;
  const inOrder = pages.flatMap(placed).toSorted(byNewest);
  const reached = end === null ? inOrder : inOrder.filter((entry) => byNewest(entry, end) <= 0);
  let cut = Math.min(count, reached.length);
  // Each node numbers its entries. Two nodes may have entries of the same time and number, which no cursor can separate.
  while (cut > 0 && cut < reached.length && byNewest(reached[cut - 1]!, reached[cut]!) === 0) cut += 1;
  const last = cut < reached.length ? reached[cut - 1]! : end;
  return { ...unplaced(reached.slice(0, cut)), next: last && `${last.atMs}.${last.id}` };
}

function placed({ entries, ids }: AuditPage): PlacedEntry[] {
  return entries.map((entry, at) => ({ atMs: Date.parse(entry.at), id: ids[at]!, entry }));
}

function unplaced(entries: readonly PlacedEntry[]): Pick<AuditPage, "entries" | "ids"> {
  return { entries: entries.map(({ entry }) => entry), ids: entries.map(({ id }) => id) };
}

function byNewest(a: AuditCursor, b: AuditCursor): number {
  return b.atMs - a.atMs || b.id - a.id;
}
