import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { type Service, shareService } from "./service.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

/** What a request has besides its code. */
interface Sent {
  readonly query?: Record<string, string>;
  readonly data?: unknown;
}

/** Returns the hint of a run: that of its error if it failed. */
async function hintOf(code: string, sent: Sent = {}): Promise<string> {
  const answer = await service.request("POST", "/api/runs/habits", { json: { code, ...sent } });
  const { hint, error } = answer.json() as { hint: string | null; error: { hint?: string | null } | null };
  return error?.hint ?? hint ?? "(none)";
}

type Row = readonly [code: string, hint: RegExp, sent?: Sent];

function haveHints(rows: readonly Row[]): void {
  for (const [code, hint, sent] of rows) {
    const more = sent === undefined ? "" : ` with ${JSON.stringify(sent)}`;
    it(`${code}${more}`, async () => assert.match(await hintOf(code, sent), hint));
  }
}

describe("a name that nothing declares has the fix", () => {
  haveHints([
    ["return prices.length", /^Nothing declares prices: declare it/],
    [
      "return prices.length",
      /^No variable has the name prices, .*: write context\.body\.prices\.$/,
      { data: { prices: [] } },
    ],
    ["return plan + 1", /: write context\.query\.plan\.$/, { query: { plan: "pro" } }],
    [
      "import os from 'node:os';\nexport default () => os.EOL + plan",
      /: write export default \(context\) => \.\.\., and read context\.query\.plan\.$/,
      { query: { plan: "pro" } },
    ],
    ["return consol.log(1)", /^Did you mean console\?$/],
    ["const total = 1; return totla", /^Did you mean total\?$/],
    ["const rows = 1; return prose + rows", /^Nothing declares prose/],
    ["return structuredCloen({})", /^Did you mean structuredClone\?$/],
  ]);
});

describe("a text that ends at a quote inside of it has the fix", () => {
  haveHints([
    ["const text = 'it's me';\nreturn text", /^The ' before s ends the text: write \\' .* in double quotes\.$/],
    ["return { a: 'don't' }", /^The ' before t ends the text/],
    ['return "say "hi" now"', /^The " before hi ends the text: write \\" .* in single quotes\.$/],
    ["return `a `b` c`", /^The ` before b ends the text: write \\` inside of it\.$/],
    ["return { a: 'x' b: 1 }", /^A comma is missing before b\.$/],
    ["const x = 'a' y = 1", /^A semicolon or a line break is missing before y\.$/],
  ]);
});

describe("habits of other languages and runtimes have the fix", () => {
  haveHints([
    ["const x = {}; for (const [k] of x.items()) {}", /^JavaScript has no items: Object\.entries\(value\)/],
    ["const x = {}; return x.keys()", /Object\.keys\(value\)/],
    ["const list = [1]; return ','.join(list)", /write list\.join\(","\)\.$/],
    ["await setTimeout(10)", /^A timer takes a function first\. .*setTimeout\(resolve, ms\)/],
    ["const [a] = Promise.all([1]); return a", /^Promise\.all\(\.\.\.\) returns a promise: put await before/],
    ["for (const a of Promise.allSettled([1])) {}", /put await before Promise\.allSettled\(/],
    ["const [a] = { b: 1 }; return a", /^(?!Promise)/],
    ["import fetch from 'node-fetch'; export default () => fetch('data:,1')", /without an import: remove the line\.$/],
    ["const app = require('express')(); app.listen(3000)", /^No client can connect to a task/],
    ["require('dotenv').config()", /^A task has no file \.env/],
    ["import _ from 'lodsh'; export default () => _", /^Did you mean lodash\? Add "packages": \{"lodash":"\*"\}/],
    ["import x from 'ledash-x'; export default () => x", /^Add "packages": \{"ledash-x":"\*"\}/],
    ["return JSON.parse(`{'a': 1}`)", /^The parsed text is not JSON: JSON has names and texts in double quotes/],
    ['return JSON.parse(\'{"a": "b\')', /^The parsed text is not JSON: JSON has names/],
    ["return await (await fetch('data:,{a')).json()", /^The parsed text is not JSON\. For an answer of fetch/],
    ["return await (await fetch('data:,<html>')).json()", /^The text is a page, such as HTML/],
  ]);
});

describe("an import of types has the fix, if nothing else is imported", () => {
  const hint =
    /^Order is used only as a type: write import type \{ Order \} from "\.\/types", which needs no module\.$/;
  const other = /^Send it with the code: /;
  haveHints([
    ['import { Order } from "./types";\nconst o: Order = { id: 1 };\nexport default () => o.id', hint],
    [
      'import { Order, Item } from "./types";\nconst f = (o: Order): Item[] => [];\nexport default () => f(null as Order)',
      /^The names are used only as a type: write import type \{ Order, Item \}/,
    ],
    [
      'import { Order } from "./types";\ninterface A { order: Order; all?: Order[] }\ntype B = Order;\nexport default () => { const a: A | Order | null = null; return a }',
      hint,
    ],
    ['import { Order } from "./types";\nexport default () => new Order()', other],
    ['import { Order } from "./types";\nexport default (c) => (c ? (1) : Order)', other],
    ['import { Order } from "./types";\nexport default () => ({ b: 1, a: Order })', other],
    ['import { Order } from "./types";\nexport default () => ({ a: Order })', other],
    ['import { Order } from "./types";\nexport default (o: Order) => Order.parse(o)', other],
    ['import { order } from "./types";\nexport default () => 1', other],
  ]);
});

describe("a function that takes the context for a value has the fix", () => {
  haveHints([
    ["export default (name) => name.trim()", /^name is the context, .* read context\.data\.name\.$/],
    ["export default function f(name, count) { return name.trim() }", /^name is the context, /],
    ["(data) => data.map((x) => x)", /^The first parameter is the context, .* context\.body, which is the list\.$/],
    ["(event) => event.split(',')", /^event is the context, which has no split: event\.body is the parsed body/],
    ["(context) => context.foo()", /^The parameter is the context, which has no foo/],
    ["(user) => { user = {}; return user.trim() }", /^Only a text has trim|^Did you mean|^The value in front/],
    ["const f = (name) => name.trim(); export default () => f(1)", /^(?!name is the context)/],
    ["(name) => [1].map((name) => name.trim())", /^(?!name is the context)/],
  ]);
});

describe("a member that is misspelt in a declaration has the fix", () => {
  haveHints([
    ["const o = { name: 'x' };\nconst n = o.nmae;\nreturn n.length", /^The value has no nmae: did you mean name\?$/],
    ["const o = { name: 'x' };\nconst n = o.city;\nreturn n.length", /^n is undefined here: test it first/],
  ]);
});
