import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { runInThisContext } from "node:vm";

import { bundle, toScript } from "../../../src/sandbox/program/bundle-program.ts";
import { removeTree } from "../../../src/sandbox/temp/remove-tree.ts";

/** Creates a folder with these files and bundles its main.ts. */
async function bundled(t: TestContext, files: Record<string, string>): Promise<{ folder: string; text: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-bundle-"));
  t.after(() => removeTree(folder));
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  return { folder, text: await bundle(path.join(folder, "main.ts")) };
}

test("a bundle runs each module once, after the modules that it imports", async (t) => {
  const { folder, text } = await bundled(t, {
    "log.ts": "export const log: string[] = [];",
    "a.ts": `import { log } from "./log.ts";
      log.push("a");
      export async function later(): Promise<string> { return "later"; }
      export class Box { constructor(readonly_: number) { this.value = readonly_; } value: number; }`.replace(
      /^ +/gm,
      "",
    ),
    "b.ts": `import path from "node:path";
      import { later as soon } from "./a.ts";
      import { log } from "./log.ts";
      import type { Nothing } from "./not-there.ts";
      log.push("b");
      export const name: string = path.basename(import.meta.filename);
      export function both(): Promise<string> { return soon(); }`.replace(/^ +/gm, ""),
    "main.ts": `import { isDeepStrictEqual as same } from "node:util";
      import { both, name } from "./b.ts";
      import { Box } from "./a.ts";
      import { log } from "./log.ts";
      const result = await both();
      globalThis.bundled = [log.join(), result, name, new Box(7).value, same({}, {})];`.replace(/^ +/gm, ""),
  });
  const file = path.join(folder, "bundled.mjs");
  await writeFile(file, text);
  await import(pathToFileURL(file).href);
  assert.deepEqual(Reflect.get(globalThis, "bundled"), ["a,b", "later", "b.js", 7, true]);
});

test("later changes to Node's modules do not reach a bundle", async (t) => {
  const { folder, text } = await bundled(t, {
    "main.ts": 'import { basename } from "node:path";\nglobalThis.bundledName = () => basename("/x/y");',
  });
  const file = path.join(folder, "bundled.mjs");
  await writeFile(file, text);
  await import(pathToFileURL(file).href);
  const before = { ...path };
  t.after(() => Object.assign(path, before));
  Object.assign(path, { basename: () => "changed" });
  assert.equal((Reflect.get(globalThis, "bundledName") as () => string)(), "y");
});

test("bundle rejects unsupported imports and exports", async (t) => {
  const refused: [text: string, names: RegExp][] = [
    ["export let x = 1;", /export let/],
    ["export default 1;", /export default/],
    ['import * as all from "node:util";', /import \* as all/],
    ['import "./main.ts";', /import "/],
    ["const here = import.meta.url;", /import\.meta\.url/],
    ['import { x } from "./main.ts";', /circular/],
  ];
  for (const [text, names] of refused) await assert.rejects(bundled(t, { "main.ts": text }), names, text);
});

test("toScript returns an ASCII function that receives the folder and returns a promise", async (t) => {
  const { text } = await bundled(t, {
    "main.ts": 'globalThis.bundledWords = ["…", /é+/.test("éé"), import.meta.dirname];\nawait null;',
  });
  const script = toScript(text);
  assert.match(script, /^[\0-\x7f]*$/);
  await (runInThisContext(script) as (folder: string) => Promise<void>)("/there");
  assert.deepEqual(Reflect.get(globalThis, "bundledWords"), ["…", true, "/there"]);
});

test("toScript rejects text that an escape would change", async (t) => {
  for (const text of ["globalThis.x = /\\…/;", "globalThis.x = String.raw`…`;"]) {
    const made = await bundled(t, { "main.ts": text });
    assert.throws(() => toScript(made.text), /an escape would change/);
  }
});
