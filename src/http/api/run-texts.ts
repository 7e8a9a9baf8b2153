import { Slices } from "../../next-turn.ts";
import type { ConsoleLine, RunRecord } from "../../records/record.ts";

/** The most characters of the entries of a page of runs or failures: stops pages of errors with long messages. */
const MAX_PAGE_CHARS = 2 * 2 ** 20;

/**
 * Writes the entries of a page as JSON, in slices.
 *
 * @param holder the `holder` argument of `nextTurn`
 * @param maxChars the characters after which no entry is added
 * @returns the JSON array of the first entries, at least one, and their number. It is lower if the page would be too large.
 */
export async function entriesText<T>(
  entries: readonly T[],
  describe: (entry: T) => object,
  holder: string,
  maxChars: number = MAX_PAGE_CHARS,
): Promise<{ readonly text: string; readonly count: number }> {
  const texts = await entryTexts(entries, describe, holder, maxChars);
  return { text: `[${texts.join()}]`, count: texts.length };
}

/** As `entriesText`. @returns the JSON of each entry */
export async function entryTexts<T>(
  entries: readonly T[],
  describe: (entry: T) => object,
  holder: string,
  maxChars: number = MAX_PAGE_CHARS,
): Promise<readonly string[]> {
  const slices = new Slices(holder);
  const texts: string[] = [];
  let chars = 0;
  for (const entry of entries) {
    if (chars > maxChars) break;
    if (slices.hasEnded) await slices.next();
    const text = JSON.stringify(describe(entry));
    texts.push(text);
    chars += text.length;
  }
  return texts;
}

/**
 * Returns a record as JSON. Its console may have half a megabyte, and its input as much as the operator permits.
 *
 * @param holder the `holder` argument of `nextTurn`
 */
export async function recordText({ console, input, ...rest }: RunRecord, holder: string): Promise<string> {
  const kept = input === undefined ? "" : `,"input":${await quoted(input, holder)}`;
  const lines = await linesText(console, (line) => JSON.stringify(line), holder);
  return `${JSON.stringify(rest).slice(0, -1)}${kept},"console":[${lines.join()}]}`;
}

/** Returns a text as JSON. A character of two units may be split: JSON then has an escape of each. */
async function quoted(text: string, holder: string): Promise<string> {
  const slices = new Slices(holder);
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += PIECE_CHARS) {
    if (slices.hasEnded) await slices.next();
    parts.push(JSON.stringify(text.slice(at, at + PIECE_CHARS)).slice(1, -1));
  }
  return `"${parts.join("")}"`;
}

/** Returns the console of a run with one JSON object in each line. @param holder the `holder` argument of `nextTurn` */
export async function consoleNdjson({ run, console }: RunRecord, holder: string): Promise<string> {
  const lines = await linesText(console, (line) => `${JSON.stringify({ run, ...line })}\n`, holder);
  return lines.join("");
}

/** The most characters of a console for a terminal. A text that consists of line ends becomes twenty times longer. */
const MAX_TERMINAL_CHARS = 4 * 2 ** 20;
/** The characters of a text that are written in one step. */
const PIECE_CHARS = 8_192;
/** Characters that act on a terminal: control characters, line ends, and marks that change the direction of text. */
const ACTING = /\r\n|[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;
const LINE_ENDS: ReadonlySet<string> = new Set(["\r\n", "\n", "\v", "\f", "\r", "\u0085", "\u2028", "\u2029"]);

/**
 * Returns the console of a run for a terminal. Each line begins with the time and the level, also the further lines of one
 * text, so that no text can pretend to be another line. Other characters that act on a terminal are written as escapes.
 *
 * @param holder the `holder` argument of `nextTurn`
 */
export async function consoleText({ console, dropped }: RunRecord, holder: string): Promise<string> {
  const slices = new Slices(holder);
  let written = "";
  for (const { atMs, level, text } of console) {
    const head = `${String(Math.round(atMs)).padStart(6)} ms ${level.padEnd(5)} `;
    written += head;
    for (let at = 0; at < text.length; at += PIECE_CHARS) {
      if (slices.hasEnded) await slices.next();
      if (written.length > MAX_TERMINAL_CHARS) return `${written}\n(the rest is too long for this form)\n`;
      written += text.slice(at, at + PIECE_CHARS).replace(ACTING, (found) => shown(found, head));
    }
    written += "\n";
  }
  return dropped.lines === 0 ? written : `${written}(${dropped.lines} lines, ${dropped.bytes} bytes were dropped)\n`;
}

function shown(found: string, head: string): string {
  if (found === "\t") return found;
  if (LINE_ENDS.has(found)) return `\n${head}`;
  return `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

async function linesText(
  lines: readonly ConsoleLine[],
  write: (line: ConsoleLine) => string,
  holder: string,
): Promise<string[]> {
  const slices = new Slices(holder);
  const texts: string[] = [];
  for (const line of lines) {
    if (slices.hasEnded) await slices.next();
    texts.push(write(line));
  }
  return texts;
}
