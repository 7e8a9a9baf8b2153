import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { command } from "../cli/command.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";

let home: Home;
let service: Service;
before(async () => {
  home = await makeHome();
  service = await startService([...NO_WALL, "--log-level", "debug"], home);
});
after(() => leave(service, home));

async function hintOf(body: string): Promise<[result: unknown, hint: string | null]> {
  const { result, hint } = (await service.request("POST", "/api/runs/hint", { body })).json() as {
    result: unknown;
    hint: string | null;
  };
  return [result, hint];
}

function hintAt(line: number): string {
  return `The code returned nothing: put return before its last statement, in line ${line}.`;
}

describe("a body that returns nothing, and whose last statement is an expression", () => {
  const forgotten: [string, number][] = [
    ["const a = 6; a * 7", 1],
    ["const a = 6;\na * 7;\n", 2],
    ["const a = [1, 2]\na.map((n) => {\n  return n;\n})\n  .filter(Boolean) // all\n", 2],
    ["const a = await Promise.resolve(1);\nawait Promise.resolve(a)", 2],
    ["function f() { return 1 }\nf()", 2],
    ["if (globalThis.never) { return 1 }\n({ a: 1 })", 2],
    ["const a: number = 6;\na * 7", 2],
    ["const text = `;\n${1}`;\n`${text}`", 3],
    ["// const b = 1; b\nlet a = /;\\//.test(';'); a = 2", 2],
    ["for (const a of [1]) {}\n[1, 2].length;", 2],
  ];
  for (const [code, line] of forgotten) {
    it(`has a hint with its line: ${code}`, async () => {
      assert.deepEqual(await hintOf(code), [null, hintAt(line)]);
      assert.deepEqual(await hintOf(code), [null, hintAt(line)], "also when the code is known");
    });
  }

  it("has the hint in the answer of /api/run, in the log, and in caisson run", async () => {
    const answer = await service.run("hint", "const a = 6;\na * 7");
    assert.deepEqual([answer.text, answer.headers["caisson-hint"]], ["null", hintAt(2)]);
    const run = answer.headers["caisson-run"]!;
    const line = await service.logLine((text) => text.includes(run) && text.includes("put return before"));
    assert.match(line, /"level":"debug".*"taskLevel":"warn"/);
    const folder = await mkdtemp(path.join(tmpdir(), "caisson-hint-"));
    try {
      const file = path.join(folder, "task.js");
      await writeFile(file, "const a = 6;\na * 7");
      const shown = await command(["run", file, "--port", String(service.port), "--data", home.data]);
      assert.deepEqual(shown, { code: 0, stdout: "null\n", stderr: `caisson: ${hintAt(2)}\n` });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("has the hint for its author, and not for strangers who call it as a public task", async () => {
    const json = { code: "const a = 6; a * 7", public: true };
    await service.request("PUT", "/api/tasks/hint/task", { json });
    const stranger = await service.request("GET", "/api/run/hint/task", { token: null });
    assert.deepEqual([stranger.text, stranger.headers["caisson-hint"]], ["null", undefined]);
    await service.request("PUT", "/api/tasks/hint/task", { json: { errors: "shown" } });
    const shown = await service.request("GET", "/api/run/hint/task", { token: null });
    assert.equal(shown.headers["caisson-hint"], hintAt(1));
  });
});

describe("any other code", () => {
  const others = [
    "return undefined",
    "const a = 6; return a * 7",
    "const a = 6; console.log(a)",
    "const a = 6;\nawait console.log(a);",
    "const a = 5\n+ 3",
    "const f = function () {}\n(1)",
    "if (true) { 6 * 7 }",
    "if (true)\n  Math.max(1)",
    "if (false) {} else\n  Math.max(1)",
    "for (const a of [1]) Math.max(a)",
    "label: Math.max(1)",
    "function f() {}",
    "const a = 1; class A {}",
    "const a = 1; {}",
    "const a = 1; void a",
    "let a; // a; 1",
    "let a; /* a;\n1 */",
    "const a = 1 // ;a",
    "do { Math.max(1) } while (false)",
    "undefined",
    "() => { 42 }",
    "const a = 1; module.exports = () => { a }",
    "export default () => { 42 }",
    "try { Math.max(1) } finally { Math.max(2) }",
  ];
  for (const code of others) {
    it(`has no hint: ${code}`, async () => {
      assert.equal((await hintOf(code))[1], null);
    });
  }
});
