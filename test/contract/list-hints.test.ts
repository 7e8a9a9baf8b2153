import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { hintOfRun } from "./hint-of-run.ts";
import { type Service, shareService } from "./service.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

function hintOf(code: string, data?: unknown): Promise<string> {
  return hintOfRun(service, "lists", code, { data });
}

type Row = readonly [code: string, hint: RegExp, data?: unknown];

function haveHints(rows: readonly Row[]): void {
  for (const [code, hint, data] of rows) {
    const more = data === undefined ? "" : ` with ${JSON.stringify(data)}`;
    it(`${code}${more}`, async () => assert.match(await hintOf(code, data), hint));
  }
}

const NO_DATA = /^The request has no data, so its body is undefined: send data with the code/;
const NEUTRAL = /^rows is no list here, and perhaps undefined: console\.log\(rows\) shows it\./;

describe("a request without data, of which the code needs a list or an object", () => {
  haveHints([
    ["const [a, b] = context.body; return a", NO_DATA],
    ["export default (c) => {\n  const [a, b] = c.body;\n  return a;\n}", NO_DATA],
    ["const { body } = context; const [a] = body; return a", NO_DATA],
    ["({ body }) => [...body]", NO_DATA],
    ["return Object.keys(context.body)", NO_DATA],
    ["return Object.entries(context.body).length", NO_DATA],
    ["const rows = context.body\nreturn Object.values(rows)", NO_DATA],
    ["for (const row of context.body) row.x = 1", NO_DATA],
    ["return [...context.body]", NO_DATA],
    ["return Math.max(...context.body)", NO_DATA],
    ["return [...context.body.tags]", NO_DATA],
    // The body is not the reason.
    ["let rows;\nfor (const row of rows) row.x = 1", NEUTRAL],
    ["const res = {}; return [...res.body]", /^res\.body is no list here/],
    ["const [a] = context.body; return a", /^context\.body is an object, and no list/, { a: 1 }],
    ["const [a] = context.data; return a", /^context\.data .*: the list that was sent is context\.body\.$/, [1]],
  ]);
});

describe("a body that is a text, of which the code needs a list", () => {
  const isText = /^context\.body is a text, so it has no items: send JSON with Content-Type/;
  const data = '{"items":[1]}';
  haveHints([
    ["let n = 0;\nfor (const i of context.body.items) n += i;\nreturn n", isText, data],
    ["const { items } = context.body;\nreturn [...items]", isText, data],
    ["return Object.keys(context.body.items)", isText, data],
    [
      "return context.body.reduce((a, b) => a + b)",
      /^context\.body is a text, and only a list has reduce: send JSON/,
      "[1]",
    ],
    ["return context.body.reduce((a, b) => a + b)", /^Only a list has reduce, .* split of a text\.$/, "a,b"],
    ["return context.body.reduce((a, b) => a + b)", /^Only a list has reduce/, { a: 1 }],
    ["const items = JSON.parse(context.body).itemz; return [...items]", /^items is no list here/, data],
  ]);
});

describe("a value that is not there, of which the code needs a list", () => {
  haveHints([
    [
      "function load() { const all = [1]; }\nconst rows = load();\nfor (const row of rows) console.log(row)",
      /^rows is undefined here, because load\(\) returns nothing: put return with the value at the end of load\.$/,
    ],
    [
      "const load = () => { [1].map((n) => n) };\nconst rows = load();\nreturn [...rows]",
      /^rows is undefined here, because load\(\)/,
    ],
    ["const rows = undefined;\nreturn [...rows]", /^rows is undefined here: test it first, or write rows \?\? \[\]\.$/],
    ["let rows = null;\nreturn Math.max(...rows)", /^rows is null here: test it first, or write rows \?\? \[\]\.$/],
    ["let rows;\nreturn Object.keys(rows)", /^rows is undefined or null here: .* or write rows \?\? \{\}\.$/],
    ["const o = {};\nconst [a] = o.rows;\nreturn a", /^o\.rows is undefined here: .* or write o\.rows \?\? \[\]\.$/],
    [
      "const order = { items: [1] };\nfor (const item of order.itmes) console.log(item)",
      /^Perhaps the value has no itmes: did you mean items\?$/,
    ],
    // Whether the value is undefined is not known.
    ["const load = () => ({ a: 1 })\nconst rows = load();\nreturn [...rows]", NEUTRAL],
    ["function load() { return 7 }\nconst rows = load();\nreturn [...rows]", NEUTRAL],
    ["function load() {}\nlet rows = load();\nrows = { a: 1 };\nreturn [...rows]", NEUTRAL],
    ["const all = [1];\nreturn all.map(([first]) => first)", /^for \.\.\. of, spread and destructuring take a list/],
  ]);
});

describe("a value that is no list", () => {
  haveHints([
    [
      "const rows = { a: 1 };\nfor (const row of rows) row.x = 1",
      /^rows is an object, and no list: Object\.entries\(rows\)/,
    ],
    [
      "for (const row of context.body.rows) row.x = 1",
      /^context\.body\.rows is an object, and no list/,
      { rows: { a: 1 } },
    ],
    [
      "for (const i of context.body.n) console.log(i)",
      /^context\.body\.n is a number, and no list: to count/,
      { n: 3 },
    ],
    ["const rows = 3;\nreturn [...rows]", /^rows is a number, and no list/],
    [
      "const load = async () => [1];\nconst rows = load();\nreturn [...rows]",
      /^rows is a promise: put await before load/,
    ],
  ]);
});
