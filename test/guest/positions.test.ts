import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { buildSync } from "esbuild";

import { parseFault } from "../../src/containers/guest/parse-messages.ts";
import type { FaultMessage } from "../../src/wire/messages.ts";
import { type CodeOptions, GuestProcess } from "./guest-process.ts";

let guest: GuestProcess;
before(async () => {
  guest = await GuestProcess.start();
});
after(() => guest.close());

async function at(text: string, options: CodeOptions = {}): Promise<FaultMessage["at"]> {
  const fault = await guest.fault(text, {}, options);
  // The service accepts all that an honest guest reports.
  assert.deepEqual(parseFault(Buffer.from(JSON.stringify(fault))).problem.options.at, fault.at);
  return fault.at;
}

describe("the position of an error", () => {
  const THROWN: [title: string, text: string, line: number, column: number, source: string][] = [
    [
      "in an async function",
      "export default async () => {\n  const user = undefined;\n  return user.name;\n};",
      3,
      15,
      "n",
    ],
    ["in an expression", "null.x;", 1, 6, "x"],
    ["in an expression below comments", "// one\n/* two */\n\n  missing.member", 4, 3, "m"],
    ["in an expression that awaits", "// one\nawait missing.member", 2, 1, "a"],
    ["in a body", "const a = 1;\nthrow new Error('x');", 2, 7, "n"],
    ["in a body that awaits", "const a = await 1;\nthrow new Error('x');", 2, 7, "n"],
    ["in a timer after an await", "await 1;\nawait new Promise(() => setTimeout(() => { null.x }));", 2, 49, "x"],
    ["below a first line #!", "#!/usr/bin/env node\nthrow new Error('x')", 2, 7, "n"],
    ["below types", "interface A {\n  a: number;\n}\nconst a: A = { a: 1 };\nthrow new Error(`${a.a}`);", 5, 7, "n"],
    ["in code that a text evaluates", "const a = 1;\n  eval('null.x')", 2, 3, "e"],
    ["with other line ends", "const a = 1;\r\nthrow new Error('x');\r\n", 2, 7, "n"],
    ["that a built-in function calls", "[1].map(() => {\n  return null.x; })", 2, 15, "x"],
    ["of a wrapped error without a stack", "await Promise.any([\n  (async () => null.x)()])", 2, 21, "x"],
  ];
  for (const [title, text, line, column, source] of THROWN) {
    it(`is that of the top frame ${title}`, async () => {
      const found = await at(text);
      assert.deepEqual([found?.line, found?.column], [line, column]);
      assert.equal(found!.file, title === "below types" ? "task.ts" : "task.js");
      const frame = found!.frame!.split("\n");
      const marked = frame.findIndex((each) => each.startsWith(">"));
      assert.equal(frame[marked]![frame[marked + 1]!.indexOf("^")], source);
    });
  }

  it("is the same in a guest that has had many texts", async () => {
    await using used = await GuestProcess.start();
    await used.sendTexts(120);
    for (const [title, text, line, column] of THROWN) {
      const { at: found } = await used.fault(text);
      assert.deepEqual([found?.line, found?.column], [line, column], title);
    }
  });

  it("has a frame of the submitted text, with its types and its semicolons", async () => {
    assert.equal((await at("6 * null.x; // no"))?.frame, "> 1 | 6 * null.x; // no\n    |          ^");
    assert.equal(
      (await at("const a: number = 1;\nfunction f(x: string): void {\n  throw new Error(x);\n}\nf('a');\n"))?.frame,
      "  1 | const a: number = 1;\n" +
        "  2 | function f(x: string): void {\n" +
        "> 3 |   throw new Error(x);\n" +
        "    |         ^\n" +
        "  4 | }\n" +
        "  5 | f('a');",
    );
    assert.equal(
      (await at("export default (x: string) => {\n  throw new Error(x as string) }"))?.frame,
      "  1 | export default (x: string) => {\n> 2 |   throw new Error(x as string) }\n    |         ^",
    );
  });

  it("is there for an error that a task passes to its callback", async () => {
    const fault = await guest.fault("(context, cb) => {\n  cb(new Error('no'));\n}");
    assert.deepEqual([fault.code, fault.at?.line, fault.at?.column], ["task_error", 2, 6]);
  });

  it("names the module of the envelope, with a frame of its text", async () => {
    const modules = {
      "./lib/thrower.js": "export const f = () => {\n  throw new Error('from there') }",
      "./typed.ts": "export const g = (x: number): number => {\n  throw new Error(`${x}`) }",
      "./old.js": "exports.h = () => {\n  null.x }",
    };
    assert.deepEqual(await at("import { f } from './lib/thrower.js'; export default () => f()", { modules }), {
      file: "lib/thrower.js",
      line: 2,
      column: 9,
      frame: "  1 | export const f = () => {\n> 2 |   throw new Error('from there') }\n    |         ^",
    });
    const typed = await at("import { g } from './typed.ts'; export default () => g(1)", { modules });
    assert.match(typed!.frame!, /1 \| export const g = \(x: number\): number => \{/);
    assert.equal((await at("require('./old.js').h()", { modules }))?.file, "old.js");
  });

  it("is there for a text that does not parse", async () => {
    assert.deepEqual(await at("let a = 1;\n\n  let x = ;\n"), {
      file: "task.js",
      line: 3,
      column: 11,
      frame: "  1 | let a = 1;\n  2 |\n> 3 |   let x = ;\n    |           ^\n  4 |",
    });
    assert.equal((await at("const a: number = 1;\nlet b: string = ;"))?.file, "task.ts");
    assert.deepEqual((await at("import { nope } from 'node:fs';\nexport default 1"))?.line, 1);
    const modules = { "./bad.ts": "let a = 1;\nexport const b: number = ;", "./bad.json": '{\n  "a": x\n}' };
    const bad = await at("import { b } from './bad.ts'; export default b", { modules });
    assert.deepEqual([bad?.file, bad?.line, bad?.column], ["bad.ts", 2, 26]);
    const json = await at("import b from './bad.json' with { type: 'json' }; export default b", { modules });
    assert.deepEqual([json?.file, json?.line], ["bad.json", 2]);
  });

  it("is there for a failure after the answer", async () => {
    await using own = await GuestProcess.start();
    const code = own.code(
      "export default (context) => {\n  context.waitUntil((async () => {\n    null.x; })());\n  return 1 }",
    );
    await own.start(code).outcome;
    await own.ping();
    const [late] = own.lateErrors;
    assert.equal(late?.fault.at?.line, 3);
    assert.match(late.fault.error!.stack!, /task\.js:3:10/);
  });

  it("is there for an error that no code handles", async () => {
    for (const text of [
      "(cb) => {\n  setTimeout(() => { throw new Error('x') }, 1); }",
      "(cb) => {\n  Promise.reject(new Error('x')); }",
      "(cb) => {\n  process.nextTick(() => null.x); }",
    ]) {
      const fault = await guest.fault(text);
      assert.deepEqual([fault.code, fault.at?.line], ["task_threw", 2], text);
    }
  });

  it("is missing without a frame in the text", async () => {
    for (const text of [
      "throw 5",
      "throw { message: 'x' }",
      "10n",
      "Error.stackTraceLimit = 0; throw new Error('x')",
    ]) {
      await using own = await GuestProcess.start();
      assert.equal((await own.fault(text)).at, undefined, text);
    }
  });

  it("is never in the text of another code of the guest", async () => {
    await using own = await GuestProcess.start();
    const secret = own.code("globalThis.fail = () => {\n  const secret = 1;\n  throw new Error('x') };\nreturn 1");
    await own.start(secret).outcome;
    const called = await own.fault("const a = 1;\nfail()");
    assert.deepEqual([called.at?.line, called.at?.column], [2, 1]);
    assert.doesNotMatch(JSON.stringify(called), /secret/);
    const forged = `throw Object.assign(new Error('x'), { stack: 'Error: x\\n    at f (task:/${secret}/task.js:2:9)' })`;
    const fault = await own.fault(forged);
    assert.equal(fault.at, undefined);
    assert.doesNotMatch(JSON.stringify(fault), /secret/);
  });

  it("is bounded and printable, whatever stack a task makes up", async () => {
    for (const stack of [
      "'E\\n    at f (task:/ID/task.js:999999999:999999999)'",
      "'E\\n    at f (task:/ID/task.js:0:0)'",
      "'E\\n    at f (task:/ID/task.js:1:-5)'",
      "'E\\n    at f (task:/ID/\\0\\x1b.js:1:1)'",
      "'E\\n    at f (task:/ID/' + 'x'.repeat(1e5) + ':1:1)'",
      "'E\\n    at f (task:/ID/' + 'x'.repeat(250) + ':1:1)'",
      "'E' + '\\n    at f (task:/ID/task.js:1:1)'.repeat(1e5)",
    ]) {
      const made = `const [id] = /(?<=task:\\/)\\d+/.exec(new Error().stack); throw Object.assign(new Error('x'), { stack: (${stack}).replaceAll('ID', id) })`;
      const found = await at(made);
      assert.ok(JSON.stringify(found ?? null).length < 4_000, stack);
    }
  });

  it("does not depend on built-ins that the task replaces", async () => {
    for (const text of [
      "Map.prototype.get = () => { throw 1 }; Map.prototype.set = null; throw new Error('x')",
      "WeakSet.prototype.add = null; Object.create = null; JSON.parse = null; throw new Error('x')",
      "Error.prepareStackTrace = undefined; throw new Error('x')",
      "Error.prepareStackTrace = (error, sites) => error + sites.map((site) => '\\n    at ' + site).join(''); throw new Error('x')",
    ]) {
      await using own = await GuestProcess.start();
      const fault = await own.fault(text);
      assert.deepEqual([fault.code, fault.at?.line], ["task_threw", 1], text);
      assert.doesNotMatch(fault.error!.stack!, /program\.js|node:/);
    }
    for (const text of [
      "String.prototype.split = () => { throw 1 }; throw new Error('x')",
      "RegExp.prototype.exec = () => { throw 1 }; throw new Error('x')",
      "String.prototype.replace = null; throw new Error('x')",
      "Object.defineProperty(Object.prototype, 'call', { value: 1, enumerable: false }); throw new Error('x')",
    ]) {
      await using own = await GuestProcess.start();
      assert.equal((await own.fault(text)).code, "task_threw", text);
    }
  });
});

describe("the position of an error in code with an inline source map", () => {
  const original = `interface User { name: string }

function nameOf(user: User | undefined): string {
  return user!.name;
}
export default async (): Promise<string> => nameOf(undefined);
`;
  const stdin = { contents: original, sourcefile: "src/index.ts", loader: "ts" as const };
  const bundled = (options: object): string =>
    buildSync({ stdin, bundle: true, write: false, sourcemap: "inline", format: "esm", ...options }).outputFiles[0]!
      .text;
  const FRAME =
    "  2 |\n" +
    "  3 | function nameOf(user: User | undefined): string {\n" +
    "> 4 |   return user!.name;\n" +
    "    |                ^\n" +
    "  5 | }\n" +
    "  6 | export default async (): Promise<string> => nameOf(undefined);";

  it("is that of the original text, also in the stack", async () => {
    for (const options of [{}, { minify: true }, { format: "cjs" }, { minify: true, format: "cjs" }]) {
      const fault = await guest.fault(bundled(options));
      assert.deepEqual(fault.at, { file: "src/index.ts", line: 4, column: 16, frame: FRAME });
      assert.match(
        fault.error!.stack!,
        /^TypeError: .*\n    at .*src\/index\.ts:4:16\)?\n    at .*src\/index\.ts:6:\d+/,
      );
    }
  });

  it("has no frame if the map does not contain the original text", async () => {
    assert.deepEqual(await at(bundled({ sourcesContent: false })), {
      file: "src/index.ts",
      line: 4,
      column: 16,
      frame: null,
    });
  });

  it("applies the map of a module of the envelope", async () => {
    const modules = { "./lib.js": bundled({ minify: true }) };
    const found = await at("import f from './lib.js';\nexport default () => f()", { modules });
    assert.deepEqual([found?.file, found?.line], ["src/index.ts", 4]);
  });

  it("is that of the submitted text if the map cannot be used", async () => {
    const maps = [
      { version: 3, sources: ["a.ts"], mappings: "!" },
      { version: 3, sources: [], mappings: "AAAA;AAAA" },
      { version: 3, sources: ["a.ts"], mappings: 5 },
      [],
      null,
    ].map((map) => JSON.stringify(map));
    for (const map of [...maps, "[".repeat(2e5), "no"]) {
      const comment = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}`;
      const found = await at(`const a = 1;\nthrow new Error('x');\n${comment}\n`);
      assert.deepEqual([found?.file, found?.line], ["task.js", 2], map.slice(0, 80));
      assert.match(found!.frame!, /> 2 \| throw new Error\('x'\);/);
    }
  });

  it("has a printable name, whatever the map names", async () => {
    const map = { version: 3, sources: ["../\n    at evil\u001b.ts"], sourcesContent: ["\u001b"], mappings: "AAAA" };
    const data = Buffer.from(JSON.stringify(map)).toString("base64");
    const fault = await guest.fault(`throw new Error('x')\n//# sourceMappingURL=data:application/json;base64,${data}`);
    assert.equal(fault.at?.file, "?    at evil?.ts");
    assert.equal(fault.error?.stack?.split("\n").length, 2);
    parseFault(Buffer.from(JSON.stringify(fault)));
  });
});
