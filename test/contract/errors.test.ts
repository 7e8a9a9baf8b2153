import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "./problem.ts";
import { type Service, shareService } from "./service.ts";

const RESERVED = [401, 403, 407, 429, 503];

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

describe("an error that a task throws", () => {
  const throws: [string, string, string][] = [
    ["throw new Error('first')", "Error", "first"],
    ["throw new TypeError('second')", "TypeError", "second"],
    ["class Own extends Error { name = 'Own' }\nthrow new Own('third')", "Own", "third"],
    ["null.member", "TypeError", "null"],
    ["missing", "ReferenceError", "missing is not defined"],
    ["await Promise.reject(new RangeError('fourth'))", "RangeError", "fourth"],
    ["(cb) => { throw new Error('fifth') }", "Error", "fifth"],
    ["async () => { throw new Error('sixth') }", "Error", "sixth"],
    ["(context, req, res) => { throw new Error('seventh') }", "Error", "seventh"],
    ["export default { fetch() { throw new Error('eighth') } }", "Error", "eighth"],
    ["(cb) => setTimeout(() => { throw new Error('ninth') }, 1)", "Error", "ninth"],
    ["(cb) => { Promise.reject(new Error('tenth')) }", "Error", "tenth"],
    ["const deep = () => deep(); deep()", "RangeError", "call stack"],
    ["JSON.parse('{')", "SyntaxError", "JSON"],
  ];
  for (const [code, name, message] of throws) {
    it(`is reported with its name and message: ${code}`, async () => {
      const problem = assertProblem(await service.run("errors", code), 500, "task_threw");
      assert.equal(problem.error!.name, name);
      assert.ok(problem.error!.message.includes(message), problem.error!.message);
    });
  }

  for (const value of ["'text'", "42", "null", "undefined", "({})", "Symbol('a')", "() => 1", "Object.create(null)"]) {
    it(`is task_threw if it is ${value} and not an Error`, async () => {
      assertProblem(await service.run("errors", `throw ${value}`), 500, "task_threw");
      assertProblem(await service.run("errors", `await Promise.reject(${value})`), 500, "task_threw");
    });
  }

  const hostile = [
    "throw { get message() { throw 1 }, get name() { throw 1 }, get stack() { throw 1 }, get status() { throw 1 } }",
    "throw new Proxy(new Error(), { get() { throw 1 }, getPrototypeOf() { throw 1 }, has() { throw 1 } })",
    "throw { toString() { throw 1 }, message: { toString() { throw 1 } } }",
    "const e = new Error('a'); e.stack = { get length() { throw 1 } }; throw e",
    "const e = new Error('a'); e.cause = e; throw e",
    "Error.prepareStackTrace = () => { throw 1 }; throw new Error('a')",
    "throw Object.assign(new Error('a'), { name: 1, message: {}, stack: 7 })",
    "throw new Error('x'.repeat(20_000_000))",
  ];
  for (const code of hostile) {
    it(`is task_threw even if its members throw: ${code}`, async () => {
      const answer = await service.run("hostile-errors", code);
      assertProblem(answer, 500, "task_threw");
      assert.ok(answer.bytes.length < 1_000_000);
      assert.equal((await service.run("hostile-errors", "6 * 7")).text, "42");
    });
  }
});

describe("a stack", () => {
  it("counts lines and columns of the submitted source", async () => {
    const lines = ["", "const fail = () => {", "  throw new Error('here');", "};", "return [1].map(fail);"];
    const problem = assertProblem(await service.run("stacks", lines.join("\n")), 500, "task_threw");
    assert.match(problem.error!.stack!, /:3:9\b/);
    assert.match(problem.error!.stack!, /:5:12\b/);
  });

  it("counts them in the same way for every form of code", async () => {
    const forms = [
      "[1].map(() => {\n  throw new Error('here') })",
      "const n: number = 1;\n  throw new Error('here')",
      "import 'node:fs';\n  throw new Error('here')",
      "import 'node:fs'; const n: number = 1;\n  throw new Error('here')",
      "module.exports = (context) => {\n  throw new Error('here') }",
      "export default (context: unknown) => {\n  throw new Error('here') }",
    ];
    for (const code of forms) {
      const problem = assertProblem(await service.run("stacks", code), 500, "task_threw");
      assert.match(problem.error!.stack!, /:2:9\b/, code);
    }
  });

  it("never contains a path of the host, wherever the error was created", async () => {
    const codes = [
      "require('node:fs').readFileSync('/no/such/file')",
      "new URL('no url')",
      "Buffer.alloc(-1)",
      "new (require('node:vm').Script)('const = 1')",
      "process.chdir('/no/such')",
    ];
    for (const code of codes) assertProblem(await service.run("stacks", code), 500, "task_threw");
    for (const code of ["require('./missing.js')", "await import('./missing.js')"]) {
      assertProblem(await service.run("stacks", code), 400, "module_missing");
    }
  });
});

describe("the status that a task chooses", () => {
  for (const status of [400, 402, 404, 410, 418, 422, 451, 500, 502, 504, 599]) {
    it(`${status} is answered, from status and from statusCode, thrown and called back`, async () => {
      for (const name of ["status", "statusCode"]) {
        const error = `Object.assign(new Error('mine'), { ${name}: ${status} })`;
        assertProblem(await service.run("status", `throw ${error}`), status, "task_threw");
        assertProblem(await service.run("status", `(cb) => cb(${error})`), status, "task_error");
      }
      assertProblem(await service.run("status", `throw { status: ${status}, message: 'mine' }`), status, "task_threw");
    });
  }

  for (const status of [...RESERVED, 200, 302, 399, 600, 0, -404, 404.5, "'404'", "404n", "NaN", "{}"]) {
    it(`${status} is not accepted`, async () => {
      const error = `Object.assign(new Error('mine'), { status: ${status} })`;
      const thrown = await service.run("status", `throw ${error}`);
      assertProblem(thrown, 500, "task_threw");
      assert.equal(thrown.headers["retry-after"], undefined);
      assertProblem(await service.run("status", `(cb) => cb(${error})`), 400, "task_error");
    });
  }
});

describe("an error passed to the callback", () => {
  for (const error of ["new Error('mine')", "'mine'", "{ message: 'mine' }", "1", "true"]) {
    it(`is 400, because it is the task's answer: ${error}`, async () => {
      const problem = assertProblem(await service.run("callback", `(cb) => cb(${error}, 42)`), 400, "task_error");
      if (error.includes("mine")) assert.match(JSON.stringify(problem), /mine/);
    });
  }

  it("is reported with its name, message and stack", async () => {
    const problem = assertProblem(
      await service.run("callback", "(context, cb) =>\n  cb(new RangeError('mine'))"),
      400,
      "task_error",
    );
    assert.equal(`${problem.error!.name} ${problem.error!.message}`, "RangeError mine");
    assert.match(problem.error!.stack!, /:2:6\b/);
  });
});

describe("code that does not parse", () => {
  it("is reported with its line and a caret under the position", async () => {
    const problem = assertProblem(
      await service.run("syntax", "const a = 1;\nconst b = ;\nreturn a"),
      400,
      "code_syntax",
    );
    const lines = problem.detail.split("\n");
    const shown = lines.findIndex((line) => line.includes("const b = ;"));
    assert.ok(shown > 0, problem.detail);
    assert.equal(lines[shown + 1]!.indexOf("^"), lines[shown]!.indexOf(";"));
    assert.match(problem.detail, /line 2/);
  });

  it("is reported in the same way in modules and in TypeScript", async () => {
    for (const code of [
      "import 'node:fs';\nconst b = ;",
      "import 'node:fs';\nconst a: number = ;",
      "interface A {}\nconst b = ;",
    ]) {
      const { detail } = assertProblem(await service.run("syntax", code), 400, "code_syntax");
      assert.match(detail, /\n.*const .* = ;\n *\^/, code);
    }
  });

  it("is reported in part if its line is very long", async () => {
    const answer = await service.run("syntax", `const a = "${"x".repeat(500_000)}"; const = 1`);
    assertProblem(answer, 400, "code_syntax");
    assert.ok(answer.bytes.length < 10_000, `${answer.bytes.length} bytes`);
  });
});

describe("the log", () => {
  it("has a line for each failed run, with the id of the run", async () => {
    // A family has a share of these lines, and other tests use up that of the usual token.
    const token = await service.issue({ containers: ["logged"] });
    const answer = await service.run("logged", "throw new Error('logged')", { token });
    const line = await service.logLine((text) => text.includes(answer.headers["caisson-run"]!));
    assert.match(line, /task_threw/);
    assert.match(line, /logged/);
  });
});
