import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { hintOfRun } from "./hint-of-run.ts";
import { type Service, shareService } from "./service.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

function hintOf(code: string): Promise<string> {
  return hintOfRun(service, "values", code);
}

const LOAD = "async function load() { return [1] }\n";
const UNAWAITED = /^load\(\.\.\.\) is a promise, so its length is undefined: write \(await load\(\.\.\.\)\)\.length\.$/;

describe("an error about a value that does not fit", () => {
  const rows: readonly [code: string, hint: RegExp][] = [
    ["const r = new Response('{}'); await r.text(); return await r.json()", /can be read once: keep what/],
    ["return (await fetch('htps://example.com')).status", /^The URL begins with an unknown scheme: write https:\/\//],
    [
      "import { fileURLToPath } from 'node:url'; export default () => fileURLToPath(import.meta.url)",
      /^The code is no file, so the URL of its module is no path/,
    ],
    ["return new Request('https://example.com', { body: 'x' })", /^A GET has no body: send it with another method/],
    ["return new Request('https://example.com', { method: 'POST', body: 'x' }).method", /^\(none\)$/],
    ["const a = b; const b = 1; return a", /^The code uses the name above its declaration/],
    ["class A {}\nreturn A()", /^Write new in front of the call\.$/],
    ["return Promise((resolve) => resolve(1))", /^Write new in front of the call\.$/],
    ["return Map()", /^Write new in front of the call\.$/],
    ["return [].reduce((a, b) => a + b)", /^The list is empty: give reduce a second argument/],
    ["return new Date('31/12/2026').toISOString()", /^The date is invalid: .*2026-12-31/],
    ["let s = 'x'; while (true) s += s", /^The length is negative, .* without end\.$/],
    ["return new Array(-1)", /^The length is negative/],
    ["return new Response('x', { status: 204 })", /^An answer with this status has no body/],
    ["return new Response('x', { status: 600 })", /^The status of a Response is a whole number from 200 to 599\.$/],
    ["return import.meta.url", /^import\.meta makes a module of the code, and a module cannot return/],
    [
      "import { join } from 'node:path';\nreturn join('a', import.meta.url)",
      /^A module cannot return: .* remove import and export\.$/,
    ],
    [
      `${LOAD}return load().map((n) => n)`,
      /^load\(\.\.\.\) is a promise: write \(await load\(\.\.\.\)\)\.map\(\.\.\.\)\.$/,
    ],
    ["function load() { return {} }\nreturn load().map((n) => n)", /^Only a list has map/],
  ];
  for (const [code, hint] of rows) {
    it(`has a hint: ${code}`, async () => {
      assert.match(await hintOf(code), hint);
    });
  }
});

describe("a result that is not what its code looks like", () => {
  const rows: readonly [code: string, hint: RegExp][] = [
    ["return require('node:stream').Readable.from(['a', 'b'])", /^The result is a stream, a socket or another emitter/],
    [`${LOAD}return load().length`, UNAWAITED],
    [`${LOAD}export default () => ({ length: load().length })`, UNAWAITED],
    [`${LOAD}return (await load()).lenght`, /did you mean length\?$/],
    ["const r = new Response('{}'); const j = r.json(); return j.name", /^j is a promise, .* put await before r\.json/],
    [`${LOAD}return Object.keys(load())`, /^load\(\.\.\.\) returns a promise, and the code uses it like a value/],
    [`${LOAD}return Object.keys(await load()).slice(1)`, /^\(none\)$/],
    ["return [1, 2].filter((n) => { n > 1 })", /^The function returned nothing: between the braces/],
    ["return [1, 2].find((n) => { n > 1 })", /^The function returned nothing: between the braces/],
    ["return [1, 2].filter((n) => { return n > 2 })", /^\(none\)$/],
    ["return\n{ a: 1 }", /^A line ends after return/],
  ];
  for (const [code, hint] of rows) {
    it(`has a hint: ${code}`, async () => {
      assert.match(await hintOf(code), hint);
    });
  }
});
