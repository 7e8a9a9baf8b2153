/**
 * Parses the text of a JSON file (RFC 8259). A byte-order mark, which editors of Windows write, is ignored.
 *
 * @throws {SyntaxError}
 */
export function parseJsonFile(text: string): unknown {
  return JSON.parse(text.replace(/^\uFEFF/, ""));
}
