import assert from "node:assert/strict";
import { it } from "node:test";

import { exportTarget, importTarget, IMPORT, REQUIRE } from "../../src/bundler/exports.ts";

it("exports are resolved as Node resolves them", () => {
  const table = {
    ".": [{ unknown: "./none.js" }, { node: { import: "./node.mjs", require: "./node.cjs" }, default: "./other.js" }],
    "./a/*": "./src/a/*.js",
    "./a/b/*": { import: "./src/ab/*.mjs" },
    "./a/b/*.css": "./css/*.css",
    "./private/*": null,
    "./twice/*": "./lib/*/*.js",
    "./folder/": "./src/",
  };
  const find = (subpath: string): (string | null)[] =>
    [IMPORT, REQUIRE].map((each) => exportTarget(table, subpath, each));
  assert.deepEqual(find("."), ["./node.mjs", "./node.cjs"]);
  assert.deepEqual(find("./a/x"), ["./src/a/x.js", "./src/a/x.js"]);
  assert.deepEqual(find("./a/b/x"), ["./src/ab/x.mjs", null]);
  assert.deepEqual(find("./a/b/x.css"), ["./css/x.css", "./css/x.css"]);
  assert.deepEqual(find("./twice/x"), ["./lib/x/x.js", "./lib/x/x.js"]);
  for (const hidden of ["./private/x", "./a/", "./folder/x", "./b", "./__proto__", "./constructor"]) {
    assert.deepEqual(find(hidden), [null, null], hidden);
  }
});

it("exports may be one target or one set of conditions", () => {
  assert.equal(exportTarget("./index.js", ".", IMPORT), "./index.js");
  assert.equal(exportTarget("./index.js", "./x", IMPORT), null);
  assert.equal(exportTarget({ browser: "./b.js", "module-sync": "./m.js", default: "./d.js" }, ".", REQUIRE), "./m.js");
  assert.equal(exportTarget({ import: null, default: "./d.js" }, ".", IMPORT), null);
  assert.equal(exportTarget({ import: { browser: "./b.js" }, default: "./d.js" }, ".", IMPORT), "./d.js");
});

it("hostile exports end the search", () => {
  let deep: unknown = "./x.js";
  for (let level = 0; level < 1_000; level++) deep = { default: deep };
  for (const odd of [deep, 7, true, [], {}, [[[]]], { default: {} }])
    assert.equal(exportTarget(odd, ".", IMPORT), null);
  assert.equal(exportTarget({ "./*": "./$&$1*.js" }, "./x", IMPORT), "./$&$1x.js");
});

it("imports lead to files or to other packages", () => {
  const table = { "#a": { node: "./a.js" }, "#b/*": "other/*", "#c": null };
  assert.equal(importTarget(table, "#a", IMPORT), "./a.js");
  assert.equal(importTarget(table, "#b/x", REQUIRE), "other/x");
  for (const none of ["#c", "#d", "#toString"]) assert.equal(importTarget(table, none, IMPORT), null);
  assert.equal(importTarget(undefined, "#a", IMPORT), null);
});

function patterns(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`./a${at}/*`, "./a/*.js"]));
}

it("exports that would take too long to search for each import are refused with the name of the package", () => {
  assert.equal(exportTarget(patterns(1_000), "./a7/x", IMPORT), "./a/x.js");
  const tooLarge = { name: "Failure", code: "packages_too_large" };
  assert.throws(() => exportTarget(patterns(1_001), "./a7/x", IMPORT, "wide@1.0.0"), {
    ...tooLarge,
    message: "exports or imports in the package.json of wide@1.0.0 have more than 1000 patterns",
  });
  assert.throws(() => importTarget(patterns(1_001), "#x", IMPORT), tooLarge);
  const conditions = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`c${at}`, "./x.js"]));
  for (const wide of [conditions, Array<null>(1_001).fill(null), { ".": { ...conditions, default: "./x.js" } }])
    assert.throws(() => exportTarget(wide, ".", IMPORT), tooLarge);
});
