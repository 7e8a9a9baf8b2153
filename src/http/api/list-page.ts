import { nextTurn } from "../../next-turn.ts";

/** What a list gives and how an entry of it is written. */
export interface Listing<T> {
  /** The entries after a cursor, at most so many, in order. */
  readonly read: (cursor: string, count: number) => Promise<readonly T[]> | readonly T[];
  /** Entries that are read and written in one turn of the event loop: as many as take a few milliseconds. */
  readonly atOnce: number;
  /** As of `nextTurn`. */
  readonly holder: string;
  readonly cursorOf: (entry: T) => string;
  /** What is told of an entry. */
  readonly describe: (entry: T) => Promise<object> | object;
  /** Which entries are wanted; without it all. */
  readonly wanted?: (entry: T) => boolean;
}

/** Of one page. Somebody may have a thousand entries of tens of kilobytes. */
const MAX_PAGE_CHARS = 2 * 2 ** 20;

/**
 * Writes a page of a list as JSON, a few entries at a time, so that other requests come in between.
 *
 * @param name of the member that holds the entries; `next` is the cursor of the page after it, or null.
 * @param count the most entries. A page with large entries has fewer, and at least one.
 */
export async function listPage<T>(name: string, after: string, count: number, listing: Listing<T>): Promise<string> {
  const { read, atOnce, holder, cursorOf, describe, wanted = () => true } = listing;
  const texts: string[] = [];
  let chars = 0;
  let last = after;
  for (let cursor = after; ;) {
    await nextTurn(holder);
    const some = await read(cursor, atOnce);
    if (some.length === 0) return page(name, texts, null);
    for (const entry of some) {
      cursor = cursorOf(entry);
      if (!wanted(entry)) continue;
      if (texts.length === count || chars > MAX_PAGE_CHARS) return page(name, texts, last);
      const text = JSON.stringify(await describe(entry));
      texts.push(text);
      chars += text.length;
      last = cursor;
    }
  }
}

function page(name: string, texts: readonly string[], next: string | null): string {
  return `{"${name}":[${texts.join()}],"next":${JSON.stringify(next)}}`;
}
