import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { type Service, shareService } from "./service.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

async function hintOf(code: string): Promise<string | null> {
  const json = { code };
  return ((await service.request("POST", "/api/runs/callback", { json })).json() as { hint: string | null }).hint;
}

describe("code that gives an async function to a method of lists that does not wait for it", () => {
  const rows: readonly [code: string, method: string][] = [
    ["return [1, 2, 3].filter(async (n) => n > 2)", "filter"],
    ["return [1, 2, 3].filter(async function (n) { return n > 2 })", "filter"],
    [
      "const list: number[] = [1, 2, 3];\nconst kept = await list.filter(async (n: number) => n > 2);\nreturn { kept }",
      "filter",
    ],
    ["return [1, 2, 3].some(async (n) => n > 3)", "some"],
    ["return [1, 2, 3].every(async (n) => n > 3)", "every"],
    ["return [1, 2, 3].find(async (n) => n > 2)", "find"],
    ["return [1, 2, 3].findIndex(async (n) => n > 2)", "findIndex"],
    ["return [1, 2, 3].findLast(async (n) => n < 2)", "findLast"],
    ["const isBig = async (n) => n > 2;\nreturn [1, 2, 3].filter(isBig)", "filter"],
    ["async function isBig(n) { return n > 2 }\nexport default () => [1, 2, 3].filter(isBig).length", "filter"],
    ["export default async () => ({ any: ['a'].some(async (name) => name === 'b') })", "some"],
  ];
  for (const [code, method] of rows) {
    it(`has a hint: ${code}`, async () => {
      const hint = `${method} does not wait for an async function, and its promise counts as true: write const kept = await Promise.all(list.map(callback)), and then list.${method}((item, index) => kept[index]).`;
      assert.equal(await hintOf(code), hint);
      assert.equal(await hintOf(code), hint, "also when the code is known");
    });
  }

  for (const method of ["sort", "toSorted"]) {
    it(`has a hint for ${method}`, async () => {
      assert.equal(
        await hintOf(`return [3, 1, 2].${method}(async (a, b) => a - b)`),
        `${method} does not wait for an async function, so the order does not change: await the values first, with await Promise.all(list.map(...)), and compare them in a function without async.`,
      );
    });
  }

  const others: readonly string[] = [
    "return [1, 2, 3].filter((n) => n > 2)",
    "// list.filter(async (n) => n)\nreturn [1]",
    'return "list.filter(async (n) => n)"',
    "const keep = await Promise.all([1, 2].map(async (n) => n > 1));\nreturn [1, 2].filter((_, index) => keep[index])",
    "const { Readable } = require('node:stream');\nreturn await Readable.from([1, 2]).filter(async (n) => n > 1).toArray()",
    "class Query { async filter(test) { return (await test(1)) ? [1] : [] } }\nreturn await new Query().filter(async (n) => n > 0)",
    "const list = { find: async (test) => test(1) };\nreturn await list.find(async (n) => n)",
    "const async = (n) => n > 2;\nreturn [1, 2, 3].filter(async)",
    "return [1, 2, 3].map((n) => n).filter(Boolean)",
  ];
  for (const code of others) {
    it(`has no hint: ${code}`, async () => {
      assert.equal(await hintOf(code), null);
    });
  }

  it("has no hint for a Response, because its code may have more than one answer", async () => {
    assert.equal(await hintOf("export default { fetch: () => Response.json([1].filter(async () => false)) }"), null);
  });
});
