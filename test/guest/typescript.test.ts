import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { GuestProcess } from "./guest-process.ts";

let guest: GuestProcess;
before(async () => {
  guest = await GuestProcess.start();
});
after(async () => {
  await guest.close();
});

/** The position of a fault, as file, line and column, and the line that it shows. */
async function at(source: string, modules: Record<string, string> = {}): Promise<unknown[]> {
  const { at: position } = await guest.fault(source, {}, { modules });
  assert.ok(position);
  const marked = /^> +\d+ \| (.*)$/m.exec(position.frame ?? "")?.[1];
  return [position.file, position.line, position.column, marked];
}

describe("TypeScript that is more than types", () => {
  const texts: [string, string, unknown][] = [
    ["an enum in a body", "enum A { B = 3, C }\nreturn A[A.C] + A.B", "C3"],
    ["an enum in a body that awaits", "enum A { B = 3 }\nreturn (await 1) + A.B", 4],
    ["an enum in a module", "export enum A { B = 'b' }\nexport default A.B", "b"],
    ["an enum in CommonJS", "enum A { B = 1 }\nmodule.exports = (context: unknown) => A.B", 1],
    ["a namespace in a module", "namespace N { export const x: number = 4 }\nexport default async () => N.x", 4],
    ["a parameter property in an arrow function", "() => new (class { constructor(public x: number) {} })(5).x", 5],
    [
      "an import of a module of Node",
      "import os = require('node:os');\nexport default () => typeof os.tmpdir",
      "function",
    ],
    ["a cast", "const f = (x: any) => <string>x;\nreturn f('cast')", "cast"],
    ["the last value", "enum A { B = 9 }\nA.B", 9],
  ];
  for (const [what, text, expected] of texts) {
    it(`runs: ${what}`, async () => {
      const lastValue = what === "the last value";
      assert.deepEqual(await guest.value(text, {}, { lastValue }), expected);
    });
  }

  it("runs in a submitted module", async () => {
    const modules = { "./a.ts": "export enum A { B = 2 }", "./b.ts": "export namespace N { export const c = 3 }" };
    const code = 'import { A } from "./a.ts"; import { N } from "./b.ts"; export default A.B + N.c';
    assert.equal(await guest.value(code, {}, { modules }), 5);
  });

  it("has the line, the column and the text of the author in an error", async () => {
    const enumOfFour = "enum A {\n  B,\n  C,\n}\n\n";
    assert.deepEqual(await at(`${enumOfFour}return (null as any).x;`), ["task.ts", 6, 22, "return (null as any).x;"]);
    assert.deepEqual(await at(`${enumOfFour}export default () => {\n  null!.x;\n};`), ["task.ts", 7, 9, "  null!.x;"]);
    assert.deepEqual(await at(`enum A { B } throw new Error("first line")`), [
      "task.ts",
      1,
      20,
      'enum A { B } throw new Error("first line")',
    ]);
    const modules = { "./a.ts": `${enumOfFour}export const f = () => {\n  throw new Error("a");\n};` };
    const code = 'import { f } from "./a.ts"; export default f';
    assert.deepEqual(await at(code, modules), ["a.ts", 7, 9, '  throw new Error("a");']);
  });

  it("has the lines of the author in each frame of a stack and in what is printed", async () => {
    const code =
      "enum A {\n  B,\n}\nfunction inner(): never {\n  throw new Error('deep');\n}\nexport default () => {\n  inner();\n};";
    const { error } = await guest.fault(code);
    assert.deepEqual(error?.stack?.match(/task\.ts:\d+:\d+/g), ["task.ts:5:9", "task.ts:8:3"]);
    await guest.value("enum A {\n  B,\n}\nconsole.log(new Error('printed'))\nreturn 1");
    assert.match(guest.logs.at(-1)!.text, /task\.ts:4:13/);
  });

  it("has the line of a statement whose value a body may have meant to return", async () => {
    const id = guest.code("enum A {\n  B = 1,\n}\n\nString(A.B);");
    const line = new Promise<number>((resolve) => (guest.onUnreturned = resolve));
    await guest.start(id).outcome;
    assert.equal(await line, 5);
  });

  it("has the position of a mistake that only JavaScript's parser finds", async () => {
    assert.deepEqual(await at("enum A {\n  B,\n}\nlet x = 1;\nlet x = 2;\nreturn x"), ["task.ts", 5, 5, "let x = 2;"]);
    const missing = "enum A {\n  B,\n}\nimport { nope } from 'node:fs';\nexport default nope";
    assert.deepEqual((await at(missing)).slice(0, 2), ["task.ts", 4]);
  });
});
