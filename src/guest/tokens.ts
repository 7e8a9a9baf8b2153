/** A token of JavaScript, as far as the guest needs it. */
export interface Token {
  readonly kind: "word" | "value" | "mark";
  readonly text: string;
  /** The offset in the text. */
  readonly at: number;
  /** How many brackets of any kind are open before it. */
  readonly depth: number;
  /** Whether it is the first token of its line. */
  readonly startsLine: boolean;
}

/** The longest text that is read. It bounds the time of one call to some milliseconds. */
const MAX_CHARACTERS = 256 * 1024;
const SPACE = /(?:\s+|\/\/[^\n]*|\/\*[^]*?\*\/)+/y;
const WORD = /#?[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const VALUE = /(?:\.?\d[\w.]*)|"[^"\\\n]*(?:\\[^][^"\\\n]*)*"|'[^'\\\n]*(?:\\[^][^'\\\n]*)*'/y;
const PATTERN = /\/(?![*/])(?:[^\\/[\n]|\\[^\n]|\[(?:[^\]\\\n]|\\[^\n])*\])+\/[a-z]*/y;
const TEMPLATE = /[^`\\$]*(?:(?:\\[^]|\$(?!\{))[^`\\$]*)*(?:`|\$\{)/y;
const MARK = /=>|\?\.(?!\d)|\?\?|&&|\|\||\+\+|--|[^]/y;
const OPENING = "([{";
const CLOSING = ")]}";
/** After these words, a slash begins a regular expression. */
const OPERATORS = /^(?:return|typeof|case|in|of|delete|void|throw|new|await|yield|else|do|instanceof)$/;

/**
 * Returns the tokens of a text that V8 has parsed, or null if it is too long or cannot be read without a grammar. It only
 * guesses whether a slash is a division, so a caller must be able to do without its answer.
 */
export function tokensOf(text: string): Token[] | null {
  if (text.length > MAX_CHARACTERS) return null;
  const tokens: Token[] = [];
  /** The open brackets; "`" is the `${` of a template. */
  const open: string[] = [];
  let at = 0;
  let startsLine = true;
  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? null;
  };
  const add = (kind: Token["kind"], found: string): void => {
    tokens[tokens.length] = { kind, text: found, at, depth: open.length, startsLine };
    at += found.length;
    startsLine = false;
  };
  /** Reads a part of a template, up to its end or to an expression in it. */
  const addTemplate = (): boolean => {
    const start = at;
    at += 1;
    const part = match(TEMPLATE);
    at = start;
    if (part === null) return false;
    add("value", text.slice(start, start + 1 + part.length));
    if (part.endsWith("{")) open[open.length] = "`";
    return true;
  };
  while (at < text.length) {
    const space = match(SPACE);
    if (space !== null) {
      at += space.length;
      startsLine ||= space.includes("\n");
      continue;
    }
    const character = text[at]!;
    if (character === "`") {
      if (!addTemplate()) return null;
      continue;
    }
    if (character === "}" && open[open.length - 1] === "`") {
      open.length -= 1;
      if (!addTemplate()) return null;
      continue;
    }
    const word = match(WORD);
    const value = word === null ? (match(VALUE) ?? (beginsPattern(tokens) ? match(PATTERN) : null)) : null;
    if (word !== null) add("word", word);
    else if (value !== null) add("value", value);
    else {
      const mark = match(MARK)!;
      const closes = CLOSING.indexOf(mark);
      if (closes !== -1) {
        if (open[open.length - 1] !== OPENING[closes]) return null;
        open.length -= 1;
      }
      add("mark", mark);
      if (OPENING.includes(mark)) open[open.length] = mark;
    }
  }
  return open.length === 0 ? tokens : null;
}

function beginsPattern(tokens: readonly Token[]): boolean {
  const last = tokens[tokens.length - 1];
  if (last === undefined) return true;
  if (last.kind === "word") return OPERATORS.test(last.text);
  return last.kind === "mark" && !/^(?:[)\]}]|\+\+|--)$/.test(last.text);
}
