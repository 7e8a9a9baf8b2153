import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { compileFunction } from "node:vm";

import { bundled } from "../../src/bundler/bundle.ts";
import { Modules } from "../../src/bundler/modules.ts";
import type { Package } from "../../src/bundler/unpacked.ts";

/** What a file of this machine has, which no artefact may have. The file is real, so a bundler that opens files finds it. */
const OF_THE_HOST = "text-of-the-host";

let folder: string;
/** Files that this process, and so esbuild's, may read: a text, a module, and JSON. */
let text: string;
let code: string;
let json: string;

before(() => {
  folder = mkdtempSync(path.join(tmpdir(), "caisson-hostile-"));
  [text, code, json] = ["secret.txt", "secret.js", "secret.json"].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(text, OF_THE_HOST);
  writeFileSync(code, `module.exports = ${JSON.stringify(OF_THE_HOST)};`);
  writeFileSync(json, JSON.stringify({ text: OF_THE_HOST, compilerOptions: { jsxFactory: "textOfTheHost" } }));
  const map = {
    ...{ version: 3, sources: [OF_THE_HOST], sourcesContent: [OF_THE_HOST] },
    ...{ names: [OF_THE_HOST], mappings: "AAAAA" },
  };
  writeFileSync(path.join(folder, "secret.map"), JSON.stringify(map));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** Ways to name a file, by its path and by its path from a folder far below. */
const FORMS: readonly ((file: string, above: string) => string)[] = [
  (file) => file,
  (file) => `/${file}`,
  (file) => `./${file}`,
  (_, above) => above,
  (_, above) => `./${above}`,
  (file) => `file://${file}`,
  (file) => `file:${file}`,
  (file) => `node:${file}`,
  (file) => `npm:${file}`,
  (file) => `entry:${file}`,
  (file) => `import:${file}`,
  (file) => `${file}?raw`,
  (file) => `${file}#x`,
  (file) => `${file}\n`,
  (file) => `\n${file}`,
  (file) => `C:${file}`,
  (file) => `data:text/javascript,module.exports=require(${encodeURIComponent(JSON.stringify(file))})`,
  (file) => `data:application/json;base64,${Buffer.from(JSON.stringify(file)).toString("base64")}`,
  () => "",
  () => "\n",
  () => "\0",
  () => ".",
  () => "..",
];
/** Ways to import what a quoted text names. */
const LINES: readonly ((quoted: string) => string)[] = [
  (quoted) => `import found from ${quoted}; export default found;`,
  (quoted) => `export * from ${quoted};`,
  (quoted) => `export { default } from ${quoted};`,
  (quoted) => `import found from ${quoted} with { type: "text" }; export default found;`,
  (quoted) => `import found from ${quoted} with { type: "json" }; export default found;`,
  (quoted) => `export default import(${quoted});`,
  (quoted) => `export default import(${quoted}, { with: { type: "bytes" } });`,
  (quoted) => `export default require(${quoted});`,
  (quoted) => `export default require.resolve(${quoted});`,
  (quoted) => `export default new URL(${quoted}, import.meta.url).href;`,
  (quoted) => `export default new Worker(new URL(${quoted}, import.meta.url));`,
];

describe("the bundler", () => {
  it("opens no file of the machine that a package names, in whatever way", async () => {
    const above = "../".repeat(16);
    // The loader of a file follows from its extension, so each form has a turn with each of the lines.
    for (const [index, form] of FORMS.entries()) {
      for (const [line, lineOf] of LINES.entries()) {
        const file = [text, code, json][(index + line) % 3]!;
        await assertWithoutHost({ "index.mjs": lineOf(JSON.stringify(form(file, above + file.slice(1)))) });
      }
    }
  });

  it("opens no file of the machine whose name a package computes", async () => {
    const above = "../".repeat(16).slice(0, -1);
    for (const call of ["import", "require"]) {
      for (const start of [
        `${folder}/`,
        `./${folder}/`,
        `${above}${folder}/`,
        `file://${folder}/`,
        `./${above}${folder}/`,
      ]) {
        const quoted = JSON.stringify(start);
        const template = `\`${start}\${name}\``;
        for (const name of [`${quoted} + name`, `${quoted} + name + ".js"`, template, `${quoted}.concat(name)`]) {
          await assertWithoutHost({ "index.js": `const name = process.argv[2]; module.exports = ${call}(${name});` });
        }
      }
    }
  });

  it("opens no file of the machine that a package.json names", async () => {
    const out = `./${"../".repeat(16)}`;
    for (const file of [text, code, json]) {
      for (const target of [
        file,
        `.${file}`,
        `./${file}`,
        out + file.slice(1),
        `file://${file}`,
        `./x/../../../..${file}`,
      ]) {
        const lines = { "index.js": `module.exports = [require("#x"), require("hostile/x"), require("./folder")]` };
        const members = [
          { main: target, module: target, browser: target },
          { exports: target },
          { exports: { ".": target } },
          { exports: { ".": [target, { default: target }], "./*": `${target}*` } },
          { main: "index.js", browser: { "./index.js": target, "./folder": target, fs: target } },
          {
            main: "index.js",
            imports: { "#x": target, "#*": `${target}*` },
            exports: { ".": "./index.js", "./x": target },
          },
          { main: "index.js", sideEffects: [target], tsconfig: target, types: target, directories: { lib: folder } },
        ];
        for (const manifest of members) {
          await assertWithoutHost({ ...lines, "folder/package.json": JSON.stringify({ main: target }) }, manifest);
        }
      }
    }
  });

  it("reads no source map and no settings of TypeScript that a package names", async () => {
    const map = path.join(folder, "secret.map");
    for (const url of [map, `file://${map}`, `../../../..${map}`]) {
      for (const mark of ["//# ", "//@ ", "/*# "]) {
        const end = mark.startsWith("/*") ? " */" : "";
        const line = `module.exports = function named() { return 1 };\n${mark}sourceMappingURL=${url}${end}`;
        await assertWithoutHost({ "index.js": line });
      }
    }
    const settings = JSON.stringify({
      extends: json,
      compilerOptions: { paths: { "*": [`${folder}/*`] }, baseUrl: folder },
    });
    const files = {
      "index.tsx": `import found from "secret"; export default [found, <a></a>];`,
      "tsconfig.json": settings,
      "jsconfig.json": settings,
    };
    await assertWithoutHost(files, { main: "index.tsx" });
    await assertWithoutHost(
      { ...files, "index.tsx": `/** @jsxImportSource ${folder} */ export default <a></a>;` },
      { main: "index.tsx" },
    );
    await assertWithoutHost(
      { "index.ts": `/// <reference path="${text}" />\nexport default 1;` },
      { main: "index.ts" },
    );
  });

  it("keeps a path of an archive out of the code, whatever its characters", async () => {
    const parts = ["\n", "\r", "\u2028", "*/", "\\", '"', "'", "`", "__proto__", "constructor"];
    for (const part of parts) {
      const name = `a${part}globalThis["escaped"]=1`;
      const files = {
        "index.js": `module.exports = require(${JSON.stringify(`./${name}`)})`,
        [name]: "module.exports = 7",
      };
      for (const entries of [["hostile"], ["hostile", "require:hostile"]]) {
        const artefact = await bundleOf(files, {}, entries);
        assert.ok(artefact !== null, JSON.stringify(name));
        assert.equal(evaluated(artefact)["hostile"]!.import()["default"], 7, JSON.stringify(name));
        assert.ok(!("escaped" in globalThis), JSON.stringify(name));
      }
    }
  });

  it("ends with a failure for a package.json that is deep, wide, or names members of JavaScript", async () => {
    const deep = `${'{"default":'.repeat(50_000)}"./index.js"${"}".repeat(50_000)}`;
    const wide = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [`./a${index}*`, `./b${"*".repeat(9)}`]),
    );
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
    for (const exported of [
      `{".": ${deep}}`,
      `${"[".repeat(50_000)}"./index.js"${"]".repeat(50_000)}`,
      JSON.stringify({ ...wide, ".": "./index.js" }),
      `{${names.map((name) => `"${name}": "./index.js"`).join()}}`,
      `{".": {${names.map((name) => `"${name}": "./index.js"`).join()}}}`,
    ]) {
      const manifest = JSON.parse(`{"exports": ${exported}}`) as object;
      const artefact = await bundleOf({ "index.js": "module.exports = 7" }, manifest, ["hostile", "hostile/a1x"]);
      if (artefact !== null) assert.deepEqual(Object.keys(evaluated(artefact)), ["hostile", "hostile/a1x"]);
    }
  });
});

/** Asserts that a package can be bundled, or is refused, without anything of the files of this machine. */
async function assertWithoutHost(files: Readonly<Record<string, string>>, manifest: object = {}): Promise<void> {
  const artefact = await bundleOf(files, manifest, ["hostile", "require:hostile"]);
  const subject = JSON.stringify([files, manifest]);
  if (artefact === null) return;
  assert.ok(!artefact.includes(OF_THE_HOST) && !artefact.includes("textOfTheHost"), subject);
}

/** @returns null if the package is refused, without a text of the host in the message */
async function bundleOf(
  files: Readonly<Record<string, string>>,
  members: object,
  entries: readonly string[],
): Promise<string | null> {
  const key = "hostile@1.0.0";
  const [first] = Object.keys(files);
  const manifest = { name: "hostile", ...("exports" in members ? {} : { main: first }), ...members };
  const pack: Package = {
    ...{ key, name: "hostile", version: "1.0.0", manifest, dependencies: new Map() },
    files: new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(content)])),
  };
  const modules = new Modules(new Map([[key, pack]]), new Map([["hostile", key]]));
  try {
    return Buffer.from(await bundled(entries, modules)).toString();
  } catch (error) {
    assert.equal((error as Error).name, "Failure", String((error as Error).stack));
    assert.ok(!(error as Error).message.includes(OF_THE_HOST), (error as Error).message);
    return null;
  }
}

/** Evaluates an artefact with a `require` that has nothing. */
function evaluated(artefact: string): Readonly<Record<string, { import(): Record<string, unknown> }>> {
  const module = { exports: {} as Readonly<Record<string, { import(): Record<string, unknown> }>> };
  compileFunction(artefact, ["module", "exports", "require"])(module, module.exports, createRequire(import.meta.url));
  return module.exports;
}
