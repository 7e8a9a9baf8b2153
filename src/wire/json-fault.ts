/** The first error in a text. Lines and columns count from 1, columns in UTF-16 units. */
export interface JsonFault {
  /** For example `a value is expected`. */
  readonly what: string;
  readonly line: number;
  readonly column: number;
}

/** Finds the first JSON error (RFC 8259) in a text that `JSON.parse` rejected. It does not quote the text, which may hold secrets. */
export function findJsonFault(text: string): JsonFault {
  const open: string[] = [];
  let state: State = "value";
  let at = 0;
  for (;;) {
    while (isWhiteSpace(text.charCodeAt(at))) at += 1;
    const token = text[at] === '"' ? validString(text, at) : matchAt(TOKEN, text, at);
    const next: State | "after" | undefined = NEXT[state][kindOf(token)];
    if (next === undefined) return describe(state, text, at);
    if (token === "{" || token === "[") open.push(token);
    if (token === "}" || token === "]") open.pop();
    state = next === "after" ? AFTER[open.at(-1) ?? ""]! : next;
    at += token.length;
  }
}

type State = "value" | "first value" | "name" | "first name" | "colon" | "in object" | "in array" | "end";

const VALUE = { "{": "first name", "[": "first value", string: "after", scalar: "after" } as const;

const NEXT: Readonly<Record<State, Readonly<Record<string, State | "after">>>> = {
  value: VALUE,
  "first value": { ...VALUE, "]": "after" },
  name: { string: "colon" },
  "first name": { string: "colon", "}": "after" },
  colon: { ":": "value" },
  "in object": { ",": "name", "}": "after" },
  "in array": { ",": "value", "]": "after" },
  end: {},
};

const AFTER: Readonly<Record<string, State>> = { "{": "in object", "[": "in array", "": "end" };

const EXPECTED: Readonly<Record<State, string>> = {
  value: "a value",
  "first value": "a value or ]",
  name: "a member name in double quotes",
  "first name": "a member name in double quotes or }",
  colon: "a colon",
  "in object": "a comma or }",
  "in array": "a comma or ]",
  end: "nothing more",
};

const TOKEN = /[{}[\],:]|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

function describe(state: State, text: string, at: number): JsonFault {
  // The most frequent mistake is an unescaped line break in code.
  if (text[at] === '"' && NEXT[state]["string"] !== undefined) {
    const what = "the string ends or has an unescaped line break, control character or backslash";
    return { what, ...positionOf(text, endOfString(text, at)) };
  }
  return { what: `${EXPECTED[state]} is expected`, ...positionOf(text, at) };
}

/** Returns the string that begins at `at`, with its quotes, or an empty string if it is invalid. */
function validString(text: string, at: number): string {
  const end = endOfString(text, at);
  return text[end] === '"' ? text.slice(at, end + 1) : "";
}

/** Returns the index of the closing quote or of the first invalid unit. A loop, because V8's patterns overflow the stack here. */
function endOfString(text: string, at: number): number {
  for (let end = at + 1; ;) {
    if (text[end] === "\\") {
      const { length } = matchAt(ESCAPE, text, end);
      if (length === 0) return end;
      end += length;
    } else if (text[end] === '"' || !(text.charCodeAt(end) >= 0x20)) {
      return end;
    } else {
      end += 1;
    }
  }
}

function isWhiteSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}

function kindOf(token: string): string {
  if (token.startsWith('"')) return "string";
  return token.length > 1 || /\d/.test(token) ? "scalar" : token;
}

function positionOf(text: string, at: number): { line: number; column: number } {
  const lines = text.slice(0, at).split("\n");
  return { line: lines.length, column: lines.at(-1)!.length + 1 };
}
