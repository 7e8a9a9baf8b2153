import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { GuestProcess } from "./guest-process.ts";
import { haveHints } from "./hint-rows.ts";

let guest: GuestProcess;
before(async () => {
  guest = await GuestProcess.start();
});
after(() => guest.close());

async function mustWork(advised: string): Promise<void> {
  assert.equal((await guest.run(advised)).fault, undefined);
}

const JSON_OF = "const r = await fetch('data:application/json,{\"list\":[1]}'); ";
const LIST_OF = "const r = await fetch('data:application/json,[1]'); ";

function unawaited(read: string, use: string): string {
  const member = use.slice(1);
  return `${read}() returns a promise, so its ${member} is undefined: put await before the call, as in (await response.${read}())${use}.`;
}

describe("a call of a function that a module of Node does not have has the fix", () => {
  const SYNC =
    "node:fs/promises has no function readFileSync: write await readFile(...), which returns a promise, or take readFileSync from node:fs.";
  haveHints(
    () => guest,
    [
      ["const fs = require('fs/promises'); return fs.readFileSync('a')", SYNC],
      ["const { readFileSync } = require('node:fs/promises'); return readFileSync('a')", SYNC],
      ["const fs = require('fs').promises; return fs.readFileSync('a')", SYNC],
      ["const fs = require('fs'); return fs.promises.readFileSync('a')", SYNC],
      [
        "import fs from 'fs/promises'; export default () => fs.existsSync('a')",
        "node:fs/promises has no function existsSync, but node:fs has it.",
        "import fs from 'fs'; export default () => fs.existsSync('a')",
      ],
      [
        "const { sleep } = require('timers/promises'); await sleep(1)",
        "node:timers/promises has no function sleep: write await setTimeout(ms).",
        "const { setTimeout } = require('timers/promises'); await setTimeout(1)",
      ],
      [
        "import * as timers from 'timers/promises'; export default () => timers.sleep(1)",
        "node:timers/promises has no function sleep: write await setTimeout(ms).",
      ],
      [
        "const crypto = require('crypto'); return crypto.sha256('a')",
        'node:crypto has no function sha256: write createHash("sha256").update(text).digest("hex").',
        'const crypto = require("crypto"); const text = "a"; return crypto.createHash("sha256").update(text).digest("hex")',
      ],
      ["return require('path').joins('a')", "node:path has no function joins: did you mean join?"],
      [
        "const path = await import('node:path'); return path.exists('a')",
        "node:path has no function exists: the documentation of Node lists what it has.",
      ],
      [
        "const s = require('stream/promises'); return s.pipe()",
        "node:stream/promises has no function pipe: it has finished, pipeline.",
      ],
    ],
    mustWork,
  );
});

describe("a call of a value has the fix", () => {
  haveHints(
    () => guest,
    [
      [
        `${JSON_OF}if (!r.ok()) return 1`,
        "ok is a value, and no function: leave () out.",
        `${JSON_OF}if (!r.ok) return 1`,
      ],
      [`${JSON_OF}return r.headers('a')`, 'headers is a value, and no function: write headers.get("name").'],
      [
        "const user = { name: 'a' }; return user.name()",
        "The value in front of .name has no function name: leave () out if name is a value. console.log shows what there is.",
        "const user = { name: 'a' }; return user.name",
      ],
      [
        "const total = 5; return total()",
        "Only a function can be called, and total is none: leave () out, or check the line that declares total.",
      ],
      ["return (() => 1)()()", "Only a function can be called: check the value in front of the parentheses."],
    ],
    mustWork,
  );
});

describe("a line that begins with a parenthesis, and calls the line above it, has the fix", () => {
  const ACROSS =
    "A line that begins with ( calls the value at the end of the line above it: put ; at the end of that line.";
  haveHints(
    () => guest,
    [
      ["const n = 5\n(async () => n)()", ACROSS, "const n = 5;\n(async () => n)()"],
      ["const user = { a: 1 }\n(() => user)()", ACROSS],
      ["const n = 5, m = n // the sum\n(function () {})()", ACROSS],
      [
        "const n = 5; // the sum\n(function () {})();\nreturn n()",
        "Only a function can be called, and n is none: leave () out, or check the line that declares n.",
      ],
    ],
    mustWork,
  );
});

describe("a promise of a body that is used like the body has the fix", () => {
  haveHints(
    () => guest,
    [
      [`${JSON_OF}return r.json().list`, unawaited("json", ".list"), `${JSON_OF}return (await r.json()).list`],
      [`${JSON_OF}return await r.json().list`, unawaited("json", ".list")],
      [`${JSON_OF}return { list: r.json().list }`, unawaited("json", ".list")],
      [`${JSON_OF}return r.text().length`, unawaited("text", ".length")],
      [`${JSON_OF}return r.json().list.map(String)`, unawaited("json", ".list")],
      [`${JSON_OF}const { list } = r.json(); return list`, unawaited("json", ".list")],
      ["const list = (await fetch('data:,1')).json().list; return list", unawaited("json", ".list")],
      [
        "return (await fetch('data:application/json,[1]')).json().map(String)",
        "json() returns a promise: put await before the call, as in (await response.json()).map(...).",
        "return (await (await fetch('data:application/json,[1]')).json()).map(String)",
      ],
      [
        `${LIST_OF}for (const one of r.json()) {}`,
        "r.json(...) returns a promise, and the code uses it like a value: put await before r.json(...).",
        `${LIST_OF}for (const one of (await r.json())) {}`,
      ],
      [
        `${JSON_OF}return JSON.parse(r)`,
        "The value is a Response, and not its text: write await response.json() instead of JSON.parse(response).",
        `${JSON_OF}return await r.json()`,
      ],
      [
        "return JSON.parse(fetch('data:,1'))",
        "The value is a promise, and not its text: put await before the call that makes it. await response.json() parses the answer of fetch.",
      ],
    ],
    mustWork,
  );

  it("has no hint if the member is read of the body", async () => {
    assert.equal(await guest.hint(`${JSON_OF}return (await r.json()).list`), undefined);
    assert.equal(await guest.hint(`${JSON_OF}return r.json().then((body) => body.list)`), undefined);
  });
});

describe("an argument that does not fit has the fix", () => {
  haveHints(
    () => guest,
    [
      [
        "return Response.json({ a: 1 }, 404)",
        "The last argument is an object with the options: write { status: 404 } instead of 404, as in Response.json(value, { status: 404 }).",
        "return Response.json({ a: 1 }, { status: 404 })",
      ],
      [
        "return new Response('a', 'text/html')",
        'The last argument is an object with the options, such as { status: 404, headers: { "content-type": "text/html" } }.',
      ],
      [
        "return fetch('data:,1', 'POST')",
        'The last argument is an object with the options: write { method: "POST" } instead of "POST".',
        "return (await fetch('data:,1', { method: 'POST' })).status",
      ],
      [
        "const p = new Promise(); return 1",
        "A promise needs a function that settles it: write new Promise((resolve, reject) => ...), and call resolve(value) in it.",
      ],
      [
        "return [1, 2].map",
        "The code returns the function map of a value, so the service calls it without that value: call it, as in value.map(...).",
      ],
      [
        "const f = 'a'.trim; return f() + 1",
        "trim is a function of a value of the kind String, and was called without one: write value.trim(...).",
      ],
      [
        "const list = [2, 1]; return list.sort(1)",
        "sort takes a function of two items, or nothing: write list.sort((a, b) => a - b), or list.sort() for texts.",
        "const list = [2, 1]; return list.sort((a, b) => a - b)",
      ],
    ],
    mustWork,
  );
});

describe("a value that is given to a callback as its error has the fix", () => {
  const FIRST =
    "The first argument of the callback is the error: write callback(null, value) for a result, and callback(new Error(text)) for an error.";
  haveHints(
    () => guest,
    [
      [
        "export default (context, callback) => { callback({ ok: true }) }",
        FIRST,
        "export default (context, callback) => { callback(null, { ok: true }) }",
      ],
      ["module.exports = (context, done) => done(1)", FIRST],
      ["module.exports = (context, done) => done('not found')", FIRST],
    ],
    mustWork,
  );

  it("has no hint if the value is an error or has a status", async () => {
    assert.equal(await guest.hint("module.exports = (context, done) => done(new Error('a'))"), undefined);
    assert.equal(
      await guest.hint("module.exports = (context, done) => done({ status: 404, message: 'a' })"),
      undefined,
    );
  });
});

describe("the environment of another runtime, and a server without TLS, have the fix", () => {
  haveHints(
    () => guest,
    [
      [
        "return Deno.env.get('KEY')",
        "The code runs in Node, which has no Deno: read context.secrets.NAME instead of Deno.env, or context.params.NAME. A task or a token sets both.",
        "return context.secrets.KEY ?? context.params.KEY ?? 1",
      ],
      [
        "return Bun.env.KEY",
        "The code runs in Node, which has no Bun: read context.secrets.NAME instead of Bun.env, or context.params.NAME. A task or a token sets both.",
      ],
      [
        "return $input.name",
        "Code that is not a function has `context`: context.query, context.body, context.data, context.headers.",
      ],
      ["System.out.println('a')", "Return the result, or use console.log for the log."],
      [
        "throw new TypeError('fetch failed', { cause: Object.assign(new Error('a'), { code: 'ERR_SSL_WRONG_VERSION_NUMBER' }) })",
        "The server does not speak TLS at this port: write http:// instead of https://, or the port of its https.",
      ],
      [
        "throw Object.assign(new Error('ENOENT: no such file or directory, chdir'), { code: 'ENOENT', syscall: 'chdir' })",
        "A task has no files of the machine. It may write below the folder of os.tmpdir(); data comes with the request.",
      ],
      [
        "export default { handler() { return 1 } }",
        "Export a function, or an object with fetch(request, env, ctx): for example `export default async function handler(context) { ... }` instead of the object, or `module.exports = module.exports.handler` at the end of CommonJS.",
        "export default async function handler(context) { return 1 }",
      ],
    ],
    mustWork,
  );
});

describe("code that does not parse because of async has the fix", () => {
  const LEAVE = "Leave async out: it stands before a function only, and the code may use await without it.";
  haveHints(
    () => guest,
    [
      ["async return 1", LEAVE, "return 1"],
      ["const n: number = 1;\nasync const m = n;", LEAVE],
      [
        "const f = async () { return 1 }",
        "An arrow function has => before its braces: async () => { ... }.",
        "const f = async () => { return 1 }",
      ],
    ],
    mustWork,
  );
});

describe("a text of another language is named", () => {
  const rows: readonly [text: string, name: string][] = [
    ["public class Main { public static void main(String[] a) { } }", "Java"],
    ["import java.util.*;\nclass A {}", "Java"],
    ['fn main() { println!("hi"); }', "Rust"],
    ["use std::io;\nfn main() {\n  let x: i32 = 5;\n}", "Rust"],
    ['func main() { fmt.Println("x") }', "Go or Swift"],
    ["package main; func main() {}", "Go"],
    ["5.times do |i|\n  puts i\nend", "Ruby"],
    ["[1, 2].each { |x| puts x }", "Ruby"],
    ["$x = 5;\necho $x;", "PHP"],
    ["function add($a, $b) { return $a + $b; }\necho add(1, 2);", "PHP"],
    ["$a = array('x' => 1);\nreturn $a;", "PHP"],
    ["using System;\nclass P { static void Main() { Console.WriteLine(1); } }", "C#"],
    ['#include <stdio.h>\nint main() { printf("hi"); return 0; }', "C"],
    ['fun main() { println("hi") }', "Kotlin"],
  ];
  for (const [text, name] of rows) {
    it(`${name}: ${text}`, async () => {
      assert.equal(await guest.hint(text), `The text looks like ${name}. Only JavaScript and TypeScript run here.`);
    });
  }

  it("does not name another language for JavaScript with a mistake", async () => {
    for (const text of [
      "function main() {\n  const a = 1\n",
      "const func = 1; return func +",
      "let mut = ;",
      "const a = [1;\nvoid main();",
      "class A { private record: string = ; }",
    ])
      assert.doesNotMatch((await guest.hint(text)) ?? "", /looks like/);
  });

  it("names the declaration of a variable with its type in front", async () => {
    const hint = "A variable is declared with const or let, without its type in front: const x = ...";
    assert.equal(await guest.hint("int x = 5;\nreturn x"), hint);
    assert.equal(await guest.hint('String x = "a";'), hint);
  });
});
