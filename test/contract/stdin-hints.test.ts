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
  return ((await service.request("POST", "/api/runs/stdin", { json })).json() as { hint: string | null }).hint;
}

const NO_STDIN = /^A task has no stdin: its input comes with the request, in context\.body/;

describe("code that reads stdin", () => {
  const rows: readonly string[] = [
    'const rl = require("readline").createInterface({ input: process.stdin });\nrl.on("line", (l) => console.log(l))',
    'const { createInterface } = require("node:readline");\nconst rl = createInterface({ input: process.stdin, output: process.stdout });\nrl.question("Name? ", (name) => { console.log(name); rl.close(); });',
    'const lines = [];\nconst rl = require("readline").createInterface({ input: process.stdin });\nrl.on("line", (l) => lines.push(l));\nreturn lines',
    'process.stdin.on("data", (d) => console.log(d))',
    'let s = "";\nprocess.stdin.on("data", (d) => (s += d));\nprocess.stdin.on("end", () => console.log(s))',
    'process.stdin.resume();\nprocess.stdin.setEncoding("utf8");\nprocess.stdin.on("data", () => {});',
    'let s = "";\nfor await (const part of process.stdin) s += part;\nreturn s',
    'import { stdin as input, stdout } from "node:process";\nlet s = "";\nfor await (const part of input) s += part;\nexport default s',
    'return require("fs").readFileSync(0, "utf8")',
    'const n = Number(require("fs").readFileSync(0, "utf8").trim());\nconsole.log(n * 2)',
    'return require("fs").readFileSync("/dev/stdin", "utf8").trim().split("\\n").map(Number)',
    'const lines = require("fs").readFileSync(0, "utf8").split("\\n");\nreturn lines[1].trim()',
    'const name = prompt("Name?");\nreturn name',
  ];
  for (const code of rows) {
    it(`has a hint that a task has no stdin: ${code}`, async () => {
      assert.match((await hintOf(code)) ?? "", NO_STDIN);
      assert.match((await hintOf(code)) ?? "", NO_STDIN, "also when the code is known");
    });
  }

  const others: readonly string[] = [
    "return process.stdin.isTTY ?? 1",
    'return ""',
    '// process.stdin is empty\nreturn ""',
    'const text = "process.stdin";\nreturn text.slice(99)',
    'return require("fs").readFileSync(0, "utf8") || "none"',
  ];
  for (const code of others) {
    it(`has no hint: ${code}`, async () => {
      assert.equal(await hintOf(code), null);
    });
  }

  it("has the hint to put return before its last statement, if it only asks whether there is a terminal", async () => {
    assert.match(
      (await hintOf("const n = process.stdin.isTTY ? 1 : 2;\nn * 2")) ?? "",
      /^The code returned nothing: put/,
    );
  });
});
