import { say } from "./print/say.ts";

/** Returns the first entries of a list, and reports on stderr if there are more. */
export async function readPage<Entry>(list: AsyncIterable<Entry>, limit: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of list) {
    if (entries.length === limit) {
      say(`the list goes on after ${limit}; --limit ${limit * 10} shows more`);
      break;
    }
    entries.push(entry);
  }
  return entries;
}
