import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { hintOfRun, type Sent } from "./hint-of-run.ts";
import { type Service, shareService } from "./service.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

function hintOf(code: string, sent: Sent): Promise<string> {
  return hintOfRun(service, "calls", code, sent);
}

describe("a function that is called in a wrong way has the fix", () => {
  const rows: readonly [code: string, hint: RegExp][] = [
    ["return [1, 2].sum()", /^JavaScript has no sum: did you mean reduce\(\(a, b\) => a \+ b, 0\)\?$/],
    ["return [2, 1].sorted()", /did you mean toSorted\?$/],
    ["return 'a'.toUpper()", /did you mean toUpperCase\?$/],
    [
      "class Calc { add(a, b) { return a + b } }\nreturn Calc.add(1, 2)",
      /^add is a function of the objects of the class Calc: write new Calc\(\)\.add\(/,
    ],
    ["return await Promise.all([1, 2].forEach(async (n) => n))", /^forEach returns nothing: write await Promise\.all/],
    ["return require('fs').readFile('/tmp/x')", /^The function calls back and returns no promise: .*node:fs\/promises/],
    ["function add(a, b) {\n  a + b\n}\nreturn add(1, 2)", /^add\(\) returns nothing, .* at the end of add\.$/],
    [
      "const add = (a, b) => { a * b };\nadd(1, 2)",
      /^add\(\) returns nothing, .*, and return before add\(\), in line 2/,
    ],
    ["const add = (a, b) => { a + b };\nreturn { sum: add(1, 2), ok: true }", /^add\(\) returns nothing, /],
    ["function add(a, b) { a + b }\nreturn add(1, 2) * 2", /^add\(\) returns nothing, /],
    ["function add(a) { a.n = 1 }\nreturn { sum: add({}), ok: true }", /^\(none\)$/],
    ["function add(a) { return a.n }\nreturn { sum: add({}), ok: true }", /^\(none\)$/],
    [
      "const r = await fetch('data:application/json,{\"a\":1}');\nconst d = await r.json;\nreturn d.a",
      /^json is a function of the Response: write json\(\)\.$/,
    ],
    [
      "const r = await fetch('data:application/json,{\"a\":1}');\nconst d = await r\n  .json();\nreturn d.b",
      /^The result is undefined/,
    ],
  ];
  for (const [code, hint] of rows) it(code, async () => assert.match(await hintOf(code, {}), hint));
});

describe("a member of a body that the request does not have", () => {
  const rows: readonly [code: string, hint: RegExp, sent: Sent][] = [
    [
      "return context.body.name",
      /^The request has no body, and its query has name: write context\.query\.name\.$/,
      { query: { name: "x" } },
    ],
    ["return context.body.name", /^The request has no data, so its body is undefined/, { query: { other: "x" } }],
    [
      "export default ({ body: { user: { name } } }) => name",
      /^(?!The request has no data)/,
      { data: { usr: { name: "x" } } },
    ],
  ];
  for (const [code, hint, sent] of rows)
    it(`is named: ${code} with ${JSON.stringify(sent)}`, async () => assert.match(await hintOf(code, sent), hint));
});

it("a hint is left out if the code has replaced what the guest needs for it, and the result stays the same", async () => {
  const replaced =
    "const no = () => { throw new Error('replaced') };\nRegExp.prototype.test = RegExp.prototype.exec = no;\n";
  const lists =
    "Array.prototype.some = Array.prototype.find = Array.prototype.includes = Array.prototype.filter = no;\n";
  const texts =
    "String.prototype.split = String.prototype.slice = String.prototype.match = String.prototype.replace = no;\n";
  const ends: readonly [code: string, result: unknown][] = [
    ["const o = { name: 1 };\nreturn { n: o.nmae, ok: true }", { ok: true }],
    ["return [{ a: undefined, b: context.user }]", [{}]],
    ["return true", true],
    ["return '67'", "67"],
    ["return", null],
    ["const x = 1;", null],
    ["function main() { console.log(1) }\nmain()", null],
  ];
  for (const [end, expected] of ends) {
    const code = `${replaced}${lists}${texts}${end}`;
    const answer = await service.request("POST", `/api/runs/replaced-${ends.findIndex(([each]) => each === end)}`, {
      json: { code },
    });
    const { status, result } = answer.json() as { status: string; result: unknown };
    assert.deepEqual([status, result], ["ok", expected], end);
  }
});
