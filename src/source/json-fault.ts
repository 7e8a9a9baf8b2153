/**
 * Says where text that `JSON.parse` refused stops being JSON (RFC 8259), without quoting it: it may hold secrets.
 *
 * @returns such as `a value is expected at line 2, column 14`; both count from 1, columns in UTF-16 units.
 */
export function findJsonFault(text: string): string {
  const open: string[] = [];
  let state: State = "value";
  let at = 0;
  for (;;) {
    at += matchAt(WHITE_SPACE, text, at).length;
    const token = matchAt(TOKEN, text, at);
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

const WHITE_SPACE = /[ \t\n\r]*/y;
const TOKEN =
  /[{}[\],:]|"[ !#-[\]-\uFFFF]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[ !#-[\]-\uFFFF]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null/y;
const SOUND_PART_OF_STRING = /"[ !#-[\]-\uFFFF]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[ !#-[\]-\uFFFF]*)*/y;

function describe(state: State, text: string, at: number): string {
  const sound = NEXT[state]["string"] === undefined ? 0 : matchAt(SOUND_PART_OF_STRING, text, at).length;
  // Line breaks in code are what people most often forget to escape.
  if (sound > 0 && text[at + sound] !== '"') {
    return `the string ends or holds an unescaped line break, control character or backslash at ${placeOf(text, at + sound)}`;
  }
  return `${EXPECTED[state]} is expected at ${placeOf(text, at)}`;
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}

function kindOf(token: string): string {
  if (token.startsWith('"')) return "string";
  return token.length > 1 || /\d/.test(token) ? "scalar" : token;
}

function placeOf(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
}
