/** A list that comes in pages. Nothing is requested before it is read. */
export class List<Entry, Page extends { readonly next: string | null }> implements AsyncIterable<Entry> {
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
    do {
      const page = await this.#read(cursor);
      yield page;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  }

  /** Returns the entries of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Entry, void, undefined> {
    for await (const page of this.pages()) yield* this.#entriesOf(page);
  }
}
