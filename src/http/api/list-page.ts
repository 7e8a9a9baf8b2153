import { nextTurn } from "../../next-turn.ts";

/** A list, and how its entries are written. */
export interface Listing<T> {
  /** Returns at most `count` entries after a cursor, in order. */
  readonly read: (cursor: string, count: number) => Promise<readonly T[]> | readonly T[];
  /** The entries that are read and written in one turn of the event loop: as many as take a few milliseconds. */
  readonly entriesPerTurn: number;
  /** The `holder` argument of `nextTurn`. */
  readonly holder: string;
  readonly cursorOf: (entry: T) => string;
  /** Returns the members of an entry that the client receives. */
  readonly describe: (entry: T) => Promise<object> | object;
  /** Whether the page includes an entry. Without a filter, the page includes all entries. */
  readonly filter?: (entry: T) => boolean;
}

/** The most characters of a page. A caller may have a thousand entries of tens of kilobytes. */
const MAX_PAGE_CHARS = 2 * 2 ** 20;

/**
 * Writes a page of a list as JSON. The member `next` of the page is the cursor of the next page, or null.
 *
 * @param name the name of the member that contains the entries
 * @param count the most entries. A page with large entries has fewer, but at least one.
 */
export async function listPage<T>(name: string, after: string, count: number, listing: Listing<T>): Promise<string> {
  const { entries, next } = await listEntries(after, count, listing);
  return `{"${name}":[${entries.join()}],"next":${JSON.stringify(next)}}`;
}

/** The entries of a page, each as JSON, and the cursor of the next page, or null. */
export interface PageEntries {
  readonly entries: readonly string[];
  readonly next: string | null;
}

/** Writes the entries of a page, a few at a time, so that the service handles other requests in between. As `listPage`. */
export async function listEntries<T>(after: string, count: number, listing: Listing<T>): Promise<PageEntries> {
  const { read, entriesPerTurn, holder, cursorOf, describe, filter = () => true } = listing;
  const texts: string[] = [];
  let chars = 0;
  let last = after;
  for (let cursor = after; ;) {
    await nextTurn(holder);
    const batch = await read(cursor, entriesPerTurn);
    if (batch.length === 0) return { entries: texts, next: null };
    for (const entry of batch) {
      cursor = cursorOf(entry);
      if (!filter(entry)) continue;
      if (texts.length === count || chars > MAX_PAGE_CHARS) return { entries: texts, next: last };
      const text = JSON.stringify(await describe(entry));
      texts.push(text);
      chars += text.length;
      last = cursor;
    }
  }
}
