import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, it } from "node:test";

import { bundled } from "../../src/bundler/bundle.ts";
import { Modules } from "../../src/bundler/modules.ts";
import type { Package } from "../../src/bundler/unpacked.ts";

type Entry = Readonly<Record<"import" | "require", () => Record<string, unknown>>>;

/** Bundles packages of one file each. @param texts the file of each package by its name */
async function bundle(entries: readonly string[], texts: Readonly<Record<string, string>>): Promise<string> {
  const packages = new Map<string, Package>();
  for (const [path, text] of Object.entries(texts)) {
    const name = path.replace(/\/.*/, "");
    const file = path.slice(name.length + 1);
    const key = `${name}@1.0.0`;
    const manifest = { name, main: file, sideEffects: false };
    packages.set(key, {
      ...{ key, name, version: "1.0.0", manifest, dependencies: new Map() },
      files: new Map([[file, Buffer.from(text)]]),
    });
  }
  const roots = new Map([...packages.values()].map(({ name, key }) => [name, key]));
  return Buffer.from(await bundled(entries, new Modules(packages, roots))).toString();
}

function load(text: string): Record<string, Entry> {
  const module = { exports: {} };
  // oxlint-disable-next-line no-implied-eval -- as the guest evaluates an artefact
  new Function("module", "exports", "require", text)(module, module.exports, createRequire(import.meta.url));
  return module.exports;
}

const COUNTER = `
  globalThis.bundleTest = (globalThis.bundleTest ?? 0) + 1;
  const error = () => 1;
  export let count = 0;
  export const add = () => { count += 1; };
  export class Named {}
  export const arrow = () => {};
  export default function () {}
  export { error };`;
const OTHER = `const error = () => 2; export class Named {} export { error }; export default () => {};`;

describe("an artefact", () => {
  for (const [form, entries] of Object.entries({
    "of one entry": ["counter"],
    "of several entries": ["counter", "other", "common"],
    "of an entry for both ways": ["counter", "require:counter"],
  })) {
    it(`${form} evaluates an entry at its first import, with live exports and the names of functions`, async () => {
      Reflect.deleteProperty(globalThis, "bundleTest");
      const texts = { "counter/index.mjs": COUNTER, "other/index.mjs": OTHER, "common/index.js": "exports.a = 1;" };
      const loaded = load(await bundle(entries, texts));
      assert.equal(Reflect.get(globalThis, "bundleTest"), undefined);
      const namespace = loaded["counter"]!.import();
      assert.equal(loaded["counter"]!.import()["add"], namespace["add"]);
      (namespace["add"] as () => void)();
      assert.equal(namespace["count"], 1);
      assert.equal(Reflect.get(globalThis, "bundleTest"), 1);
      const names = ["add", "Named", "arrow", "error", "default"];
      assert.deepEqual(
        names.map((name) => (namespace[name] as { name: string }).name),
        names,
      );
      assert.deepEqual(Object.keys(namespace).toSorted(), ["Named", "add", "arrow", "count", "default", "error"]);
    });

    it(`${form} throws what an entry has thrown, and does not evaluate it again`, async () => {
      Reflect.deleteProperty(globalThis, "bundleTest");
      const thrower = `globalThis.bundleTest = (globalThis.bundleTest ?? 0) + 1; throw new RangeError("x" + globalThis.bundleTest);`;
      const texts = {
        "counter/index.mjs": `${thrower} export default 1;`,
        "other/index.mjs": OTHER,
        "common/index.js": "",
      };
      const { counter } = load(await bundle(entries, texts));
      for (let count = 0; count < 2; count += 1) assert.throws(() => counter!.import(), /RangeError: x1/);
    });
  }

  it("has exports of any name, also of what another module exports", async () => {
    const own =
      "let a = 1; export const add = () => { a += 1; }; export { a as 'a \"b\\\\', a as caf\u00e9, a as 'c-d', a };";
    const texts = {
      "counter/index.mjs": `${own} export { b } from "common"; export * as other from "other";`,
      "other/index.mjs": OTHER,
      "common/index.js": "exports.b = 2;",
    };
    const namespace = load(await bundle(["counter"], texts))["counter"]!.import();
    (namespace["add"] as () => void)();
    assert.deepEqual(Object.keys(namespace).toSorted(), ["a", 'a "b\\', "add", "b", "c-d", "caf\u00e9", "other"]);
    assert.deepEqual([namespace['a "b\\'], namespace["caf\u00e9"], namespace["c-d"], namespace["b"]], [2, 2, 2, 2]);
    assert.equal((namespace["other"] as { error: () => number }).error(), 2);
  });

  it("gives an import of CommonJS what Node gives", async () => {
    const text = "exports.a = 1; exports.of = this === exports && typeof require;";
    const { common } = load(await bundle(["common"], { "common/index.js": text }));
    const { a, of, default: whole } = common!.import();
    assert.deepEqual([a, of, whole], [1, "function", { a: 1, of: "function" }]);
  });

  for (const file of ["style.css", "fast.wasm", "view.vue"]) {
    it(`cannot have ${file}, and names what imports it`, async () => {
      const texts = { "counter/index.mjs": 'import "other";', [`other/${file}`]: "" };
      const expected = `counter@1.0.0/index.mjs:1: it imports ${file} of other@1.0.0, and packages can import only JavaScript, TypeScript, JSON and .txt`;
      await assert.rejects(bundle(["counter"], texts), { code: "packages_failed", message: expected });
    });
  }

  it("can have TypeScript, JSON and texts", async () => {
    const text =
      'export { typed } from "typed"; export { default as json } from "data"; export { default as text } from "words";';
    const texts = {
      "counter/index.mjs": text,
      "typed/index.ts": "export const typed: number = 1;",
      "data/index.json": "[2]",
      "words/index.txt": "three",
    };
    const { typed, json, text: words } = load(await bundle(["counter"], texts))["counter"]!.import();
    assert.deepEqual([typed, json, words], [1, [2], "three"]);
  });

  it("has one byte for each character, unless code has others that cannot be escaped", async () => {
    const comment =
      "// a dash \u2014 here\nexport const a = 'caf\u00e9'; /**\n * ein B\u00e4r\n */\nexport const b = `\u2014`;";
    const plain = await bundle(["counter"], { "counter/index.mjs": comment });
    assert.equal(Buffer.byteLength(plain), plain.length);
    const { a, b } = load(plain)["counter"]!.import();
    assert.deepEqual([a, b], ["caf\u00e9", "\u2014"]);
    const raw = "export const raw = String.raw`\u2014`;";
    assert.equal(load(await bundle(["counter"], { "counter/index.mjs": raw }))["counter"]!.import()["raw"], "\u2014");
  });

  it("has the fast helpers in the place of those of this esbuild", async () => {
    const text = await bundle(["counter"], { "counter/index.mjs": COUNTER });
    assert.match(text, /target\.name === value \? target/);
    assert.match(text, /delete target\.b/);
    // One function for all exports of the module.
    assert.match(text, /\["Named", .*\], \(at\) => \{ switch \(at\) \{ case 0: return Named;/);
  });
});
