import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { artefactOf } from "../artefact.ts";
import { GuestProcess } from "./guest-process.ts";

/** Written packages whose every call shows how often they were evaluated. */
const WRITTEN = {
  "counter@1.2.3/index.mjs": `
    globalThis.evaluations = (globalThis.evaluations ?? 0) + 1;
    export let count = 0;
    export const add = () => (count += 1);
    export const evaluations = globalThis.evaluations;
    export default class Counter {}`,
  "thrower@2.0.0/index.js": `exports.fail = (text) => { return require("./deep.js")(text); };`,
  "thrower@2.0.0/deep.js": `module.exports = function deep(text) {\n  throw new TypeError(text);\n};`,
  "broken@1.0.0/index.js": `throw new RangeError("broken at " + (globalThis.tries = (globalThis.tries ?? 0) + 1));`,
  "optional@1.0.0/index.js": `
    try { require("not-installed"); } catch (error) { exports.code = error.code; }
    exports.fs = typeof require("node:fs").readFileSync;
    exports.later = () => require("also-not-installed");`,
  "configured@1.0.0/index.js": `
    const { join } = require("node:path");
    exports.file = join(require("node:os").homedir(), ".configured.json");`,
  "odd@1.0.0/index.js": `
    delete require.cache[__filename];
    exports.fine = 1;
    Object.defineProperty(exports, "lazy", { enumerable: true, get() { throw new Error("is not installed"); } });
    exports["\\ud800"] = 2;
    try { require.resolve("not-installed"); } catch (error) { exports.code = error.code; }`,
  "@acme/tools@3.0.0/index.js": `module.exports = Object.assign((a, b) => a + b, { twice: (a) => 2 * a });`,
};

let guest: GuestProcess;
let packagesId: number;

before(async () => {
  guest = await GuestProcess.start();
  const entries = [
    "zod",
    "zod/mini",
    "hono",
    "hono/cors",
    "counter",
    "thrower",
    "broken",
    "optional",
    "configured",
    "odd",
    "@acme/tools",
  ];
  packagesId = guest.packages(await artefactOf(entries, WRITTEN));
});
after(async () => {
  await guest.close();
});

type Options = Parameters<GuestProcess["value"]>[2];

function value(code: string, options: Options = {}): Promise<unknown> {
  return guest.value(code, {}, { packagesId, ...options });
}

async function check(code: string, options: Options = {}): Promise<string> {
  const run = await guest.run(code, {}, { packagesId, parseOnly: true, ...options });
  return run.fault ? run.fault.detail : "passed";
}

/** A package that holds 32 MiB. */
function big(mark: number): Record<string, string> {
  return {
    "big@1.0.0/index.mjs": `export const big = new Uint8Array(32 * 2 ** 20).fill(${mark}); export default big;`,
  };
}

describe("a package of a code", () => {
  const forms: [string, string, unknown, Options?][] = [
    ["an import of a name", 'import { z } from "zod"; export default z.string().parse("a")', "a"],
    ["an import of the default", 'import tools from "@acme/tools"; export default tools(1, 2)', 3],
    ["an import of a member of CommonJS", 'import { twice } from "@acme/tools"; export default twice(4)', 8],
    ["an import of everything", 'import * as z from "zod"; export default z.number().parse(5)', 5],
    ["an import of a sub-path", 'import { string } from "zod/mini"; export default string().parse("m")', "m"],
    ["npm: with a range", 'import { z } from "npm:zod@^4"; export default z.string().parse("n")', "n"],
    [
      "npm: with a range and a sub-path",
      'import * as m from "npm:zod@4/mini"; export default typeof m.string',
      "function",
    ],
    ["npm: with a scope", 'import { twice } from "npm:@acme/tools@3"; export default twice(2)', 4],
    [
      "an import that asks for the home folder",
      'import { file } from "configured"; export default file',
      "/tmp/.configured.json",
    ],
    ["require in a body", 'const { z } = require("zod"); return z.string().parse("r")', "r"],
    ["require of npm:", 'return require("npm:@acme/tools").twice(3)', 6],
    ["require in an expression", 'require("@acme/tools")(2, 3)', 5],
    ["import() in a body", 'const { z } = await import("zod"); return z.string().parse("i")', "i"],
    [
      "import() with a computed name",
      'const name = "zo" + "d"; return typeof (await import(name)).z.object',
      "function",
    ],
    ["an arrow function", '() => require("@acme/tools")(1, 1)', 2],
    ["an arrow function with import()", 'async () => (await import("npm:@acme/tools@3")).default(5, 5)', 10],
    ["CommonJS", 'const add = require("@acme/tools");\nmodule.exports = async () => add(3, 4)', 7],
    ["require in an ES module", 'export const x = 1;\nexport default () => require("@acme/tools").twice(1)', 2],
    [
      "a module for the loader",
      'import { z } from "zod";\nexport { z };\nexport default await z.string().parseAsync("l")',
      "l",
    ],
    ["a re-export", 'export * from "@acme/tools"; export { string } from "zod/mini"; export default 5', 5],
    [
      "TypeScript",
      'import { z, type ZodType } from "zod";\nconst t: ZodType = z.string();\nexport default t.parse("t")',
      "t",
    ],
    [
      "a submitted module",
      'export { default } from "./lib.ts"',
      "s",
      {
        modules: { "./lib.ts": 'import { z } from "zod";\nconst v: string = z.string().parse("s");\nexport default v' },
      },
    ],
    [
      "a submitted module in CommonJS",
      'import lib from "./lib.js"; export default lib(20)',
      40,
      { modules: { "./lib.js": 'const { twice } = require("@acme/tools");\nexports.x = 1;\nmodule.exports = twice;' } },
    ],
    [
      "import() in a submitted module",
      'import { load } from "./lib.js"; export default await load()',
      "function",
      { modules: { "./lib.js": 'export const load = async () => typeof (await import("npm:zod")).z.string' } },
    ],
  ];
  for (const [what, code, expected, options] of forms) {
    it(`is found by ${what}`, async () => {
      const run = await guest.run(code, {}, { packagesId, ...options });
      assert.deepEqual(JSON.parse(run.result ?? JSON.stringify(run.fault)), expected);
    });
  }

  it("is found by a Hono app, which answers as a fetch handler", async () => {
    const code = `import { Hono } from "hono";
      import { cors } from "hono/cors";
      const app = new Hono();
      app.use(cors());
      app.all("*", (c) => c.json({ path: c.req.path }));
      export default app;`;
    const { head, body } = await guest.run(code, { url: "http://localhost/api/run/demo" }, { packagesId });
    assert.equal(head?.status, 200);
    assert.deepEqual(JSON.parse(body), { path: "/api/run/demo" });
    assert.ok(head.headers.includes("access-control-allow-origin"));
  });

  it("is evaluated once for all codes, imports and runs", async () => {
    const add = 'import { add } from "counter";\nexport default add()';
    const all = [
      await value(add),
      await value(`${add};`),
      await value('const c = await import("counter"); return c.add()'),
    ];
    assert.deepEqual(all, [1, 2, 3]);
    assert.equal(await value('import { evaluations } from "counter"; export default evaluations'), 1);
  });

  it("whose getter throws, or whose export has a name that no module can export, gives its other exports as in Node", async () => {
    for (const end of ["", "export { fine };\n"]) {
      const code = `import { fine, code } from "odd";\n${end}export default fine + code;`;
      assert.equal(await value(code), "1MODULE_NOT_FOUND");
    }
    const fault = await guest.fault('import odd from "odd"; export default odd.lazy', {}, { packagesId });
    assert.match(fault.detail, /is not installed/);
  });

  it("has live exports in the namespace", async () => {
    const code =
      'import * as counter from "counter";\nconst before = counter.count;\ncounter.add();\nexport default counter.count - before';
    assert.equal(await value(code), 1);
  });

  it("cannot be changed for later runs by assigning to an import", async () => {
    const attack = 'import * as z from "zod"; z.string = null; export default 1';
    assert.match((await guest.fault(attack, {}, { packagesId })).detail, /Cannot (?:assign|set)/);
    assert.equal(await value('import * as z from "zod"; export default z.string().parse("ok")'), "ok");
  });

  it("is found after a task has replaced built-ins and the global that provides packages", async () => {
    await using other = await GuestProcess.start();
    const id = other.packages(await artefactOf(["@acme/tools", "counter"], WRITTEN));
    const options = { packagesId: id };
    const first = await other.value('import { twice } from "@acme/tools"; export default twice(1)', {}, options);
    const attack = `const fail = () => { throw new Error("replaced"); };
      for (const name of ["keys", "hasOwn", "freeze", "create"]) Object[name] = fail;
      for (const name of ["get", "set", "has", "forEach"]) Map.prototype[name] = fail;
      JSON.stringify = fail;
      globalThis.require = fail;
      const before = globalThis["$provide package$"];
      try { globalThis["$provide package$"] = fail } catch {}
      try { delete globalThis["$provide package$"] } catch {}
      return before === globalThis["$provide package$"] ? "unchanged" : "changed"`;
    assert.equal((await other.run(attack)).result, '"unchanged"');
    const loaded = 'import { twice } from "@acme/tools"; export { twice }; export default await twice(2)';
    const unseen = 'import { add } from "counter"; export default add()';
    assert.deepEqual(
      [first, await other.value(loaded, {}, options), await other.value(unseen, {}, options)],
      [2, 4, 1],
    );
  });

  it("that a code does not name is missing, although another code of the guest has it", async () => {
    for (const code of [
      'import { z } from "zod"; export default z',
      'return require("zod")',
      'return await import("zod")',
      'export const a = 1; export default () => require("zod")',
    ]) {
      const fault = await guest.fault(code);
      assert.equal(fault.code, "module_missing");
      assert.match(fault.hint!, /^Add "packages": \{"zod":"\*"\} to the request, or import "npm:zod"\. /);
    }
  });

  it("with a range is suggested with this range", async () => {
    const { hint } = await guest.fault('return require("npm:@scope/lib@^2/sub")', {}, { packagesId });
    assert.match(hint!, /^Add "packages": \{"@scope\/lib":"\^2"\} to the request, or import "npm:@scope\/lib\/sub"\. /);
  });

  it("with a range that is none is missing, with a hint what a range is", async () => {
    const { hint } = await guest.fault('return require("npm:left-pad@4.x.y")', {}, { packagesId });
    assert.match(
      hint!,
      /^Name a package, and a version, a range or a tag if it is not the newest: npm:zod, npm:zod@\^4, /,
    );
  });

  it("with a range and without npm: is missing, with a hint how to write it", async () => {
    const { hint } = await guest.fault('import { z } from "zod@^4.0.0/mini"; export default z', {}, { packagesId });
    assert.equal(hint, 'Import "npm:zod@^4.0.0/mini", or "zod/mini" with "packages": {"zod":"^4.0.0"} in the request.');
  });

  it("with an entry that was not built is missing, with a hint about the name", async () => {
    const fault = await guest.fault('return await import("zod/" + "nothing")', {}, { packagesId });
    assert.equal(fault.code, "module_missing");
    assert.match(fault.detail, /there is no module "zod\/nothing": the request gives zod, zod\/mini/);
    assert.match(fault.hint!, /The code has the package zod, and not "zod\/nothing"/);
  });

  it("with a name like that of another is suggested", async () => {
    const { hint } = await guest.fault('return require("zodd")', {}, { packagesId });
    assert.equal(hint, "Did you mean zod?");
  });

  it("does not export a name that it does not have, and the line is shown", async () => {
    const fault = await guest.fault('\nimport { nothing } from "zod"; export default nothing', {}, { packagesId });
    assert.equal(fault.code, "code_syntax");
    assert.match(fault.detail, /does not provide an export named 'nothing'/);
    assert.equal(fault.at?.line, 2);
  });

  it("is never found under the URL by which Node's loader has it", async () => {
    await value('import { z } from "zod"; export { z }; export default await 1');
    const fault = await guest.fault(`return await import("package:/${packagesId}/import/zod")`, {}, { packagesId });
    assert.equal(fault.code, "module_missing");
  });
});

describe("an error in a package", () => {
  it("has the line of the code, and the names of the package's modules in its stack", async () => {
    const code = 'import { fail } from "thrower";\nexport default () => {\n  return fail("no");\n};';
    const { detail, error, at } = await guest.fault(code, {}, { packagesId });
    assert.equal(detail, "the task threw TypeError: no");
    assert.deepEqual([at?.file, at?.line, at?.column], ["task.js", 3, 10]);
    assert.deepEqual(
      error?.stack?.split("\n").map((line) => line.trim()),
      [
        "TypeError: no",
        "at deep (npm:thrower@2.0.0/deep.js)",
        "at exports2.fail (npm:thrower@2.0.0/index.js)",
        "at default (task.js:3:10)",
      ],
    );
  });

  it("has the names of modules of a large package", async () => {
    const code =
      'const { z } = require("zod");\nconst inside = () => { throw new Error("inside") };\nreturn z.string().transform(inside).parse("a");';
    const { error, at } = await guest.fault(code, {}, { packagesId });
    assert.equal(at?.line, 2);
    assert.match(error!.stack!, /\(npm:zod@\d+\.\d+\.\d+\/v4\/\S+\.c?js\)/);
    assert.doesNotMatch(error!.stack!, /package:|\/\d+:\d+:\d+/);
  });

  it("is printed with these names", async () => {
    await value('const { fail } = require("thrower");\ntry { fail("printed") } catch (error) { console.error(error) }');
    const { text } = guest.logs.find((entry) => entry.text.includes("printed"))!;
    assert.match(text, /at deep \(npm:thrower@2\.0\.0\/deep\.js\)\n/);
    assert.match(text, /task\.js:2:\d+/);
  });

  it("while it is evaluated fails each run that imports it, and no other", async () => {
    const code = 'import "broken"; export default 1';
    const first = await guest.fault('import broken from "broken"; export default broken', {}, { packagesId });
    assert.match(first.detail, /RangeError: broken at 1/);
    assert.match((await guest.fault(code, {}, { packagesId })).detail, /RangeError: broken at \d/);
    assert.match((await guest.fault('require("broken")', {}, { packagesId })).detail, /RangeError: broken at \d/);
    assert.equal(await value('require("@acme/tools")(1, 2)'), 3);
  });

  it("because of a module that is not installed has Node's code, so that the package may go on without it", async () => {
    assert.deepEqual(await value('const o = require("optional"); return [o.code, o.fs]'), [
      "MODULE_NOT_FOUND",
      "function",
    ]);
    const { code, error } = await guest.fault('require("optional").later()', {}, { packagesId });
    assert.deepEqual([code, error?.["code"]], ["task_threw", "MODULE_NOT_FOUND"]);
    assert.match(error!.message, /^Cannot find module 'also-not-installed'/);
  });
});

describe("a check of a text without running it", () => {
  it("accepts imports of packages, and evaluates none of them", async () => {
    await using blank = await GuestProcess.start();
    const id = blank.packages(await artefactOf(["counter", "broken"], WRITTEN));
    const options = { packagesId: id, parseOnly: true };
    for (const code of [
      'import { add, count as other } from "counter"; export default add',
      'import Counter, * as all from "npm:counter@1"; export default all',
      'export * from "counter"; export * from "broken"; export { add } from "counter"',
      'const { add } = require("counter"); return add()',
      'import { add } from "./lib.js"; export default add',
    ]) {
      const modules = { "./lib.js": 'export * from "counter"; export * from "broken";' };
      assert.deepEqual((await blank.run(code, {}, { ...options, modules })).fault, undefined, code);
    }
    assert.equal(await blank.value("globalThis.evaluations ?? 0"), 0);
  });

  it("reports a package that is missing", async () => {
    assert.match(await check('import _ from "lodash"; export default _'), /there is no module "lodash"/);
    assert.match(await check('const _ = require("lodash"); return _'), /there is no module "lodash"/);
    assert.match(
      await check('import { a } from "./lib.js"; export default a', {
        modules: { "./lib.js": 'export { a } from "lodash"' },
      }),
      /there is no module "lodash"/,
    );
  });

  it("reports a name that a submitted module does not export", async () => {
    const modules = { "./lib.js": 'import { z } from "zod"; export const b = z' };
    assert.match(
      await check('import { a } from "./lib.js"; export default a', { modules }),
      /does not provide an export/,
    );
  });
});

describe("a code cache of packages", () => {
  it("is made without evaluating them, and spares another guest from compiling their text", async () => {
    const texts = ["first", "other"].map((mark) => ({
      "marked@1.0.0/index.js": `globalThis.evaluated = true; exports.mark = () => "${mark}";`,
    }));
    const [first, other] = [await artefactOf(["marked"], texts[0]), await artefactOf(["marked"], texts[1])];
    await using maker = await GuestProcess.start();
    const id = maker.packages(first);
    const { bytes, head } = await maker.run("", { body: null }, { packagesId: id, cachesPackages: true });
    assert.equal(head?.status, 200);
    assert.equal(await maker.value("globalThis.evaluated ?? false"), false);
    await using user = await GuestProcess.start();
    // V8 compares only the lengths of the texts, so the result shows that it has executed the cache.
    assert.equal(other.length, first.length);
    const mark = 'import { mark } from "marked"; export default mark()';
    assert.equal(await user.value(mark, {}, { packagesId: user.packages(other, bytes) }), "first");
    assert.equal(await user.value(`${mark};`, {}, { packagesId: user.packages(other) }), "other");
  });

  it("has the functions that an order names, which are those that an import calls", async () => {
    const texts = ["first", "other"].map((mark) => ({
      "marked@1.0.0/index.js": `globalThis.evaluated = true;
        function now() { return "${mark}"; }
        exports.now = now();
        exports.later = function later() { return "${mark}"; };`,
    }));
    const [first, other] = [await artefactOf(["marked"], texts[0]), await artefactOf(["marked"], texts[1])];
    await using lister = await GuestProcess.start();
    const listed = lister.packages(first);
    const { bytes: list } = await lister.run("", { body: "called" }, { packagesId: listed, cachesPackages: true });
    const ends = JSON.parse(list.toString()) as number[];
    await using maker = await GuestProcess.start();
    const id = maker.packages(first);
    const { bytes } = await maker.run("", { body: ends }, { packagesId: id, cachesPackages: true });
    assert.equal(await maker.value("globalThis.evaluated ?? false"), false);
    await using user = await GuestProcess.start();
    const source = 'import { now, later } from "marked"; export default `${now} ${later()}`';
    // The function that no import calls is compiled from the text.
    assert.equal(await user.value(source, {}, { packagesId: user.packages(other, bytes) }), "first other");
  });

  it("is made without executing a text that ends the function around it", async () => {
    await using maker = await GuestProcess.start();
    for (const body of [null, [1, 40]]) {
      const id = maker.packages(Buffer.from("}); globalThis.evaluated = true; (function () {"));
      const { fault } = await maker.run("", { body }, { packagesId: id, cachesPackages: true });
      assert.equal(fault === undefined, body === null);
      assert.equal(await maker.value("globalThis.evaluated ?? false"), false);
    }
  });

  it("that is damaged is ignored", async () => {
    await using other = await GuestProcess.start();
    const id = other.packages(await artefactOf(["@acme/tools"], WRITTEN), Buffer.alloc(10_000, 7));
    assert.equal(
      await other.value('import { twice } from "@acme/tools"; export default twice(2)', {}, { packagesId: id }),
      4,
    );
  });
});

describe("forgotten packages", () => {
  it("free their memory, also if Node's loader has imported them", async () => {
    await using other = await GuestProcess.start();
    for (let mark = 1; mark <= 16; mark += 1) {
      const id = other.packages(await artefactOf(["big"], big(mark)));
      const loaded = 'import { big } from "big"; export { big }; export default () => big[7]; await 1';
      const body = 'import { big } from "big"; export default () => big[8]';
      for (const code of [loaded, body]) {
        const codeId = other.code(code, { packagesId: id });
        assert.equal((await other.start(codeId).outcome).result, String(mark));
        other.forget(codeId);
      }
      other.forgetPackages(id);
    }
    // 16 times 32 MiB would be more than the limit of the guest's memory.
    const held = (await other.value("process.memoryUsage().external / 2 ** 20")) as number;
    assert.ok(held < 200, `${held} MiB are held`);
  });

  it("stay usable for a run that has begun before", async () => {
    await using other = await GuestProcess.start();
    const id = other.packages(await artefactOf(["counter"], WRITTEN));
    const codeId = other.code(
      'import { add } from "counter"; export { add }; export default async () => { await new Promise((go) => (globalThis.go = go)); return add(); }; await 1',
      { packagesId: id },
    );
    const run = other.start(codeId);
    await other.run("typeof go === 'function' ? 1 : new Promise((r) => setTimeout(r, 1))");
    other.forget(codeId);
    other.forgetPackages(id);
    await other.ping();
    await other.run("globalThis.go()");
    assert.equal((await run.outcome).result, "1");
  });
});
