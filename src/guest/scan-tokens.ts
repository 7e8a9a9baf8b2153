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
  const { tokens, open, isWhole } = scanTokens(text);
  return isWhole && open.length === 0 ? tokens : null;
}

/** The tokens of the beginning of a text. */
export interface Scanned {
  readonly tokens: Token[];
  /** The brackets that are open at its end. The token of a template is the part up to its `${`, and "`" if it has no end. */
  readonly open: Token[];
  /** Whether the whole text was read. Otherwise a bracket closes another one, or a template has no end. */
  readonly isWhole: boolean;
}

/** Returns the tokens of a text up to its end, or up to the first bracket that closes no other. */
export function scanTokens(text: string): Scanned {
  const tokens: Token[] = [];
  const open: Token[] = [];
  if (text.length > MAX_CHARACTERS) return { tokens, open, isWhole: false };
  let at = 0;
  let startsLine = true;
  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? null;
  };
  const add = (kind: Token["kind"], found: string): Token => {
    const token: Token = { kind, text: found, at, depth: open.length, startsLine };
    tokens[tokens.length] = token;
    at += found.length;
    startsLine = false;
    return token;
  };
  /** Reads a part of a template, up to its end or to an expression in it. */
  const addTemplate = (): boolean => {
    const start = at;
    at += 1;
    const part = match(TEMPLATE);
    at = start;
    if (part === null) return false;
    const token = add("value", text.slice(start, start + 1 + part.length));
    if (part.endsWith("{")) open[open.length] = token;
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
      if (addTemplate()) continue;
      open[open.length] = { kind: "mark", text: "`", at, depth: open.length, startsLine };
      return { tokens, open, isWhole: false };
    }
    if (character === "}" && isTemplate(open[open.length - 1])) {
      open.length -= 1;
      if (!addTemplate()) return { tokens, open, isWhole: false };
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
        if (open[open.length - 1]?.text !== OPENING[closes]) return { tokens, open, isWhole: false };
        open.length -= 1;
      }
      const token = add("mark", mark);
      if (OPENING.includes(mark)) open[open.length] = token;
    }
  }
  return { tokens, open, isWhole: true };
}

function isTemplate(token: Token | undefined): boolean {
  return token?.kind === "value";
}

function beginsPattern(tokens: readonly Token[]): boolean {
  const last = tokens[tokens.length - 1];
  if (last === undefined) return true;
  if (last.kind === "word") return OPERATORS.test(last.text);
  return last.kind === "mark" && !/^(?:[)\]}]|\+\+|--)$/.test(last.text);
}
