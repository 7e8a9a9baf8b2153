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
  return hintOfRun(service, "programs", code);
}

type Row = readonly [code: string, hint: RegExp];

function haveHints(rows: readonly Row[]): void {
  for (const [code, hint] of rows) it(code, async () => assert.match(await hintOf(code), hint));
}

describe("a function of Node that gives its result to a callback has the fix", () => {
  const ofFiles =
    /^fs\.readFile gives its result to a callback, .*: await readFile of node:fs\/promises, or await new Promise/;
  haveHints([
    ["const fs = require('fs');\nfs.readFile('/x', 'utf8', (error, text) => {\n  console.log(text);\n});", ofFiles],
    ["const fs = require('fs');\nreturn fs.readFile('/x', 'utf8', (error, text) => text)", ofFiles],
    ["const fs = require('fs');\nconst x = fs.readFileSync;\nx.name", /^The code returned nothing: put return before/],
    [
      "const fs = require('fs');\nnew Promise((resolve) => fs.readFile('/x', (e, text) => resolve(1)))",
      /^The code returned nothing: put return before/,
    ],
    [
      "const http = require('http');\nconst request = new http.ClientRequest('http://127.0.0.1:1/', () => {});\nrequest.on('error', () => {});\nreturn { request }",
      /^The code returned the request, and not its answer: await fetch/,
    ],
  ]);
});

describe("a program whose value nothing returns has the fix", () => {
  haveHints([
    [
      "main();\nasync function main() { return 42 }",
      /^The code returned nothing, .* put return before main\(\), in line 1\.$/,
    ],
    [
      "const n = 2;\nawait main(n);\n\nfunction main(n) {\n  return twice(n);\n}\nfunction twice(n) { return 2 * n }",
      /put return before main\(\), in line 2\.$/,
    ],
    [
      "main();\nfunction main() { console.log(1) }",
      /^main\(\) returns nothing, .* return before main\(\), in line 1\.$/,
    ],
    [
      "function main() { return 42 }\nif (require.main === module) main();",
      /^A task is no main module, so line 2 does not call main: write return main\(\) instead\.$/,
    ],
    [
      "async function main() { return 42 }\nif (require.main === module) {\n  main();\n}",
      /^A task is no main module, so line 2/,
    ],
    [
      "function add(a, b) { return a + b }\nfunction main() { return add(1, 2) }",
      /^The code returned nothing, because nothing calls main\(\): put return main\(\) at its end\.$/,
    ],
    [
      "const x = 1;\nfunction main() { return x }\nfunction other() { return 2 }",
      /nothing calls main\(\): put return main/,
    ],
    ["function add(a, b) { return a + b }\nasync function total() { return add(1, 2) }", /nothing calls total\(\)/],
    [
      'import os from "node:os";\nfunction eol() { return os.EOL }\nfunction main() { return eol() }',
      /^The module exports nothing, so the result is null: put export default main at its end\.$/,
    ],
    ["function main() { return add(1, 2) }\nfunction add(a, b) { return main }", /^\(none\)$/],
    ["function main() { return 1 }\nif (context.query.x) main();", /^\(none\)$/],
    ["return null;\nfunction main() { return 1 }", /^\(none\)$/],
    ["globalThis.n = 1;\nfunction main() { return 1 }", /^\(none\)$/],
    ["[1].forEach(work);\nfunction work() { return 1 }", /^\(none\)$/],
  ]);
});

describe("a program that reads its arguments has the fix", () => {
  const argv = /^A task has no arguments of a command line in process\.argv: its input comes with the request/;
  haveHints([
    ["const [a] = process.argv.slice(2);\nreturn a", argv],
    ["return process.argv[2]", argv],
    ["const [a = 'x'] = process.argv.slice(2);\nreturn a", /^\(none\)$/],
    ["const text = 'process.argv';\nreturn null", /^\(none\)$/],
  ]);
});
