/**
 * The most values and names of a line, each of which takes up to a microsecond to build, check and write. The headers of a run are 256,
 * the details of a change have 8,192 characters.
 */
const MAX_PARTS = 10_000;
/** The most arrays and objects around a value. `JSON.stringify` fails at some thousand levels. */
const MAX_LEVELS = 128;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Parses a line of JSON that a stranger may have sent. A line of 1 MiB that consists of members would take 100 ms in one turn of the
 * event loop, so they are counted before they are built.
 *
 * @throws {Error} if the line is not JSON, has too many parts or too many levels
 */
export function parseLine(line: string): unknown {
  let parts = 0;
  let levels = 0;
  for (let at = 0; at < line.length; at += 1) {
    switch (line.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(line, at);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        parts += 1;
        levels += 1;
        if (levels > MAX_LEVELS) throw new Error(`a line has more than ${MAX_LEVELS} levels`);
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        levels -= 1;
        break;
      case COMMA:
      case COLON:
        parts += 1;
    }
    if (parts > MAX_PARTS) throw new Error(`a line has more than ${MAX_PARTS} names and values`);
  }
  return JSON.parse(line);
}

/** Returns the position of the quote that ends a string, or of the end of the line. */
function endOfString(line: string, start: number): number {
  for (let at = start + 1; at < line.length; at += 1) {
    const code = line.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return line.length;
}
