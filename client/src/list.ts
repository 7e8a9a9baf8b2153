import { CaissonError } from "./error.ts";

const HOW = "use for await (const entry of list), or await list.page()";

/** A list that comes in pages. Nothing is requested before it is read. */
export class List<Entry, Page extends { readonly next: string | null }> implements AsyncIterable<Entry> {
  /** What to do with the list. A program that prints it without reading it shows this text. */
  readonly hint: string = HOW;
  readonly #read: (cursor: string | undefined) => Promise<Page>;
  readonly #entriesOf: (page: Page) => readonly Entry[];
  readonly #cursor: string | undefined;

  constructor(
    read: (cursor: string | undefined) => Promise<Page>,
    entriesOf: (page: Page) => readonly Entry[],
    cursor?: string,
  ) {
    this.#read = read;
    this.#entriesOf = entriesOf;
    this.#cursor = cursor;
  }

  /** Returns the first page, or that of `cursor`. */
  page(): Promise<Page> {
    return this.#read(this.#cursor);
  }

  /** Returns all pages. A page may be empty although another one follows. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let cursor = this.#cursor;
    // A list that returns to an earlier page would never end. The marked cursor moves at each power of two (Brent, 1980).
    let marked = cursor;
    for (let count = 1; ; count++) {
      const page = await this.#read(cursor);
      yield page;
      cursor = page.next ?? undefined;
      if (cursor === undefined) return;
      if (cursor === marked) throw new CaissonError({ code: "unexpected_answer", detail: "the list repeats a page" });
      if ((count & (count - 1)) === 0) marked = cursor;
    }
  }

  /** Returns the entries of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Entry, void, undefined> {
    for await (const page of this.pages()) yield* this.#entriesOf(page);
  }
}

/** What an array has, and what a page has. Of a list they would be undefined, or "not a function". */
const OTHERS =
  "length map filter forEach find findIndex some every reduce flatMap slice at includes concat sort toArray tasks runs tokens containers entries next";

const refuse = (): never => {
  throw new TypeError(`a list comes in pages: ${HOW}`);
};
// Not members of the class, whose type would then permit `for (const entry of list)`. `Array.from(list)` would be empty.
Object.defineProperty(List.prototype, Symbol.iterator, { value: refuse });
for (const name of OTHERS.split(" ")) Object.defineProperty(List.prototype, name, { get: refuse });
