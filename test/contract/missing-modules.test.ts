import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { type Service, shareService } from "./service.ts";

let service: Service;
before(async () => {
  service = await shareService();
});
after(() => service.stop());

function put(code: string, more: object = {}): Promise<Answer> {
  return service.request("PUT", "/api/tasks/missing/task", { json: { code, ...more } });
}

describe("a missing module", () => {
  const forms: [string, string, RegExp][] = [
    [
      "an import statement",
      "import os from 'node:os';\nimport _ from 'lodash';\nexport default _",
      /\(line 2, column 15\)/,
    ],
    ["an import of a name", 'import { a } from "lodash"; export default a', /\(line 1, column 19\)/],
    ["an export", "export { default } from 'lodash'", /\(line 1, column 25\)/],
    ["a call of require", "const fs = require('fs');\nreturn require('lodash')", /\(line 2, column \d+\)/],
    ["a call of require in a function", "module.exports = () => {\n  return require('lodash');\n}", /\(line 2, column/],
    ["a call of import", "const _ = await import('lodash'); return _", /\(line 1, column \d+\)/],
    [
      "an import in TypeScript",
      "import type { A } from './a';\nimport _ from 'lodash';\nexport default _ as any;",
      /\(line 2/,
    ],
  ];
  for (const [what, code, position] of forms) {
    it(`is module_missing with the line: ${what}`, async () => {
      const problem = assertProblem(await service.run("missing", code), 400, "module_missing");
      assert.match(problem.detail, /there is no module "lodash"/);
      assert.match(problem.detail, position);
      assert.match(problem.detail, /\n {2}.*lodash.*\n +\^$/);
      assert.match(
        problem.hint!,
        /^Add "packages": \{"lodash":"\*"\} to the request, or import "npm:lodash"\. .*--bundle/,
      );
    });
  }

  it("is shown in the record with its position and its code frame", async () => {
    const body = "import _ from 'lodash';\nexport default _";
    const { status, error } = (await service.request("POST", "/api/runs/missing", { body })).json() as {
      status: string;
      error: { code: string; at: { file: string; line: number; column: number; frame: string } };
    };
    assert.deepEqual([status, error.code], ["refused", "module_missing"]);
    assert.partialDeepStrictEqual(error.at, { file: "task.js", line: 1, column: 15 });
    assert.match(error.at.frame, /lodash/);
  });

  it("that a submitted module imports is shown with the name of that module", async () => {
    const json = {
      code: 'export { default } from "./lib.js"',
      modules: { "./lib.js": "\nexport { default } from 'lodash'" },
    };
    const problem = assertProblem(await service.run("missing", "", { json }), 400, "module_missing");
    assert.match(problem.detail, /^lib\.js: there is no module "lodash".*\(line 2, column 25\)/);
  });

  const similar: [string, string][] = [
    ["import fs from 'node:fss'; export default 1", "node:fs"],
    ["import fs from 'node:fs/promise'; export default 1", "node:fs/promises"],
    ["return require('crytpo')", "node:crypto"],
    ["return require('child_proces')", "node:child_process"],
    ["return require('node:f')", "node:fs"],
  ];
  for (const [code, name] of similar) {
    it(`with a name like that of another has it in the hint: ${code}`, async () => {
      const { hint } = assertProblem(await service.run("missing", code), 400, "module_missing");
      const [own] = /(?<=')[\w-]+(?=')/.exec(code) ?? [];
      const rest = own ? ` A module of the request is imported by its relative name: "./${own}".` : "";
      assert.equal(hint, `Did you mean ${name}?${rest}`);
    });
  }

  it("with a name like that of a submitted module has it in the hint", async () => {
    const json = { code: 'import "./lbi.ts"; export default 1', modules: { "./lib.ts": "1" } };
    const { hint } = assertProblem(await service.run("missing", "", { json }), 400, "module_missing");
    assert.equal(hint, "Did you mean ./lib.ts?");
  });

  const ofFiles: [code: string, modules: Record<string, string> | undefined, hint: RegExp][] = [
    ['import "lib"; export default 1', { "./lib.ts": "1" }, /^Did you mean \.\/lib\.ts\?$/],
    ['import "lib.ts"; export default 1', { "./lib.ts": "1" }, /^Did you mean \.\/lib\.ts\?$/],
    ['import "util/text"; export default 1', { "./util/text.js": "1" }, /^Did you mean \.\/util\/text\.js\?$/],
    ['import "utils"; export default 1', { "./utils.js": "1" }, /^Did you mean \.\/utils\.js\?$/],
    ['import "lib.ts"; export default 1', undefined, /^A file is imported .* "\.\/lib\.ts", and send it with the code/],
    ['import "chart.js"; export default 1', undefined, /^Add "packages": \{"chart\.js":"\*"\}/],
    ['import "lodash"; export default 1', { "./lib.ts": "1" }, /^Add "packages": \{"lodash":"\*"\}/],
    // A module in a folder resolves its imports from there.
    ['import "./a/b.js"; export default 1', { "./a/b.js": 'import "shape"', "./shape.js": "1" }, /^Add "packages"/],
  ];
  for (const [code, modules, hint] of ofFiles) {
    it(`with the name of a file has its relative name in the hint: ${code} ${Object.keys(modules ?? {}).join()}`, async () => {
      const problem = await service.run("missing", "", { json: { code, modules } });
      assert.match(assertProblem(problem, 400, "module_missing").hint!, hint);
    });
  }

  const ofRuntimes: [code: string, hint: RegExp][] = [
    [
      "import x from 'bun'; export default 1",
      /^The code runs in Node, which has no module of Bun: use the node: modules, /,
    ],
    ["import { Database } from 'bun:sqlite'; export default 1", /^The code runs in Node, which has no module of Bun: /],
    [
      "import { serve } from 'https://deno.land/std/http/server.ts'; export default 1",
      /^The code runs in Node, without the library of Deno: .* export default \{ fetch\(request\)/,
    ],
    [
      "import { assert } from 'jsr:@std/assert'; export default 1",
      /^A jsr: import does not work here\. In a folder of yours, run npx jsr add @std\/assert, write the name without jsr:, and run caisson run --bundle task\.ts\. Or use a package of npm, as npm:name, or a module of Node\.$/,
    ],
    ["import { assert } from 'jsr:@std/assert@1/equals'; export default 1", /npx jsr add @std\/assert, write/],
  ];
  for (const [code, hint] of ofRuntimes) {
    it(`of another runtime has what works instead in the hint: ${code}`, async () => {
      assert.match(assertProblem(await service.run("missing", code), 400, "module_missing").hint!, hint);
    });
  }

  const ofExports: [code: string, module: string, hint: string][] = [
    [
      'import helper from "./helper.js"; export default helper',
      "export const helper = 1",
      'The module has no default export: write import { helper } from "./helper.js".',
    ],
    [
      'import help from "./helper.js"; export default help',
      "export const one = 1, two = 2;\nexport async function three() {}",
      'The module has no default export. It exports one, three: write import { one } from "./helper.js".',
    ],
    ['import { helpr } from "./helper.js"; export default 1', "export function helper() {}", "Did you mean helper?"],
    [
      'import { helper } from "./helper.js"; export default helper',
      "export default function () {}",
      'The module has only a default export: write import helper from "./helper.js".',
    ],
    [
      'import { other } from "./helper.js"; export default other',
      "const a = 1;\nexport { a as first, a as second }",
      "The module exports first, second: import one of its names.",
    ],
  ];
  for (const [code, module, hint] of ofExports) {
    it(`with another export than the imported one names the right form: ${code} of ${module}`, async () => {
      const json = { code, modules: { "./helper.js": module } };
      assert.equal(assertProblem(await service.run("missing", "", { json }), 400, "code_syntax").hint, hint);
    });
  }

  it("that is a package with a short name has no other name in the hint", async () => {
    for (const name of ["ws", "pg", "ms", "co", "zod", "axios", "react"]) {
      const problem = assertProblem(await service.run("missing", `require("${name}")`), 400, "module_missing");
      assert.doesNotMatch(problem.hint!, /Did you mean/, name);
    }
  });

  it("can be caught by the code, with the code that libraries look for", async () => {
    const code = `let optional = null;
      try { optional = require("bufferutil") } catch (error) { optional = error.code }
      return [optional, await import("lodash").catch((error) => error.code)]`;
    assert.equal((await service.run("missing", code)).text, '["MODULE_NOT_FOUND","ERR_MODULE_NOT_FOUND"]');
  });
});

describe("a task that requires a missing module", () => {
  const found = [
    'const _ = require("lodash");\nmodule.exports = () => 1;',
    "require('lodash')\nreturn 1",
    'var a = 1\nvar import_lodash = __toESM(require("lodash"));\nfunction __toESM(a) { return a }\nreturn 1',
    'import os from "node:os";\nconst _ = require(`lodash`);\nexport default () => 1',
    'const a: number = 1;\nconst _ = require("lodash");\nmodule.exports = () => a as number;',
    'if (1) { }\nconst _ = require("lodash"); return _',
    'const lib = require("./lib.js"); return lib',
    'const a = /"/.test(`${"`"}`); const b = require("lodash"); return [a, b]',
  ];
  for (const code of found) {
    it(`is rejected when it is put: ${code}`, async () => {
      const problem = assertProblem(await put(code), 400, "module_missing");
      assert.match(problem.detail, /there is no module "(?:lodash|\.\/lib\.js)"[^]*\(line [12], column \d+\)/);
    });
  }

  const kept = [
    'module.exports = () => require("lodash")',
    'module.exports = () => { const _ = require("lodash"); return _; }',
    'let a; try { a = require("lodash") } catch {}\nreturn 1',
    'const a = process.env.A ? require("lodash") : 1; return a',
    'const a = false && require("lodash"); return a',
    'if (false) require("lodash"); return 1',
    'function require(a) { return a } return require("lodash")',
    '(function (require) { require("lodash") })((a) => a); return 1',
    'const { createRequire } = await import("node:module"); { const require = (a) => a; require("lodash") } return 1',
    '// require("lodash")\nconst text = `require("lodash")` + \'require("lodash")\'; return text',
    'const own = { require: (a) => a }; own.require("lodash"); return 1',
    'require("fs"); require("node:os"); return 1',
    'const fs = require("fs"); const file = require("os").tmpdir() + "/a.js"; fs.writeFileSync(file, ""); require("./a.js"); return 1',
    "const divided = 4 / 2; const b = 1 / 1; return divided",
  ];
  for (const code of kept) {
    it(`is kept if it may never load it: ${code}`, async () => {
      const answer = await put(code);
      assert.ok(answer.status < 300, answer.text);
    });
  }

  it("is kept if its modules have the missing one", async () => {
    const answer = await put('const lib = require("./lib.js"); return lib.a', {
      modules: { "./lib.js": "exports.a = 7" },
    });
    assert.ok(answer.status < 300, answer.text);
    assert.equal((await service.request("GET", "/api/run/missing/task")).text, "7");
  });
});
