import type { Readable } from "node:stream";

/** The longest line. A message has code of a megabyte, with its escapes. */
const MAX_CHARS = 16 * 2 ** 20;

/** Calls back with each line of a stream. Resolves at its end. @throws {Error} if a line is too long */
export async function readLines(stream: Readable, onLine: (line: string) => void): Promise<void> {
  let rest: string[] = [];
  let length = 0;
  for await (const chunk of stream.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = chunk.split("\n");
    for (const [index, part] of lines.entries()) {
      rest.push(part);
      length += part.length;
      if (length > MAX_CHARS) throw new Error(`a line of the client has more than ${MAX_CHARS} characters`);
      if (index === lines.length - 1) break;
      onLine(rest.join(""));
      rest = [];
      length = 0;
    }
  }
  if (length > 0) onLine(rest.join(""));
}
