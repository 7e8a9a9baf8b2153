import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { Problem } from "../../src/errors.ts";
import type { PackageSet } from "../../src/packages/model.ts";
import { MAX_NAMED, mayName, packagesOf, type Ranges } from "../../src/packages/names.ts";

const find = (text: string, ranges: Ranges | null = null): PackageSet | null => packagesOf([text], ranges);
const codeOf = (call: () => unknown): string | null => {
  try {
    call();
    return null;
  } catch (error) {
    return error instanceof Problem ? error.code : String(error);
  }
};

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

describe("packagesOf", () => {
  it("returns nothing that keeps the text in memory, because locks stay for as long as the service runs", () => {
    const texts = 40;
    const chars = 2 ** 20;
    const textOf = (at: number): string => {
      const entry = `tiny/a-long-sub-path-${at}`;
      return `import "npm:tiny@^4.0.0 || ^5.0.0"; import("npm:${entry}"); import "${entry}-2"; ${String(at).repeat(chars).slice(0, chars)}`;
    };
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const sets = Array.from({ length: texts }, (_, at) => find(textOf(at), { tiny: "*" }));
    collectGarbage();
    assert.ok(process.memoryUsage().heapUsed - before < (texts * chars) / 4);
    assert.equal(sets.length, texts);
  });

  for (const [text, ranges, entries] of [
    ['import { z } from "npm:zod@4"', { zod: "4" }, ["zod"]],
    ["import{z}from'npm:zod@^4.1.0'", { zod: "^4.1.0" }, ["zod"]],
    ['import "npm:zod"', { zod: "*" }, ["zod"]],
    ['export * from "npm:@acme/tools@>=2 <3/parse/csv.js"', { "@acme/tools": ">=2 <3" }, ["@acme/tools/parse/csv.js"]],
    ["const _ = require(`npm:lodash@latest`)", { lodash: "latest" }, ["lodash", "require:lodash"]],
    ['await import(/* later */ "npm:date-fns@4/add")', { "date-fns": "4" }, ["date-fns/add"]],
    ['import a from "npm:zod@4"; import b from "npm:zod/mini"', { zod: "4" }, ["zod", "zod/mini"]],
    ['import a from "npm:zod"; import b from "npm:zod@4"; import c from "npm:zod@^4"', { zod: "4" }, ["zod"]],
    ['const glob = "src/**/*.ts"; import "npm:zod@4"', { zod: "4" }, ["zod"]],
    ['/* import "npm:tiny" */\nimport "npm:zod@4"', { zod: "4" }, ["zod"]],
    ['/*\nimport "npm:tiny"\n*/ import "npm:zod@4"', { zod: "4" }, ["zod"]],
    ['/* a */ import "npm:zod@4"', { zod: "4" }, ["zod"]],
    ['const glob = "/*"; import "npm:zod@4"', { zod: "4" }, ["zod"]],
    ['import a from "npm:constructor@1"', { constructor: "1" }, ["constructor"]],
  ] as readonly (readonly [string, Ranges, readonly string[]])[]) {
    it(`finds the packages of ${text}`, () => {
      assert.equal(mayName(Buffer.from(text)), true);
      assert.deepEqual(find(text), { ranges, entries });
    });
  }

  for (const text of [
    "1 + 1",
    'const text = "npm:zod@4"',
    '// import { z } from "npm:zod@4"',
    ' * import { z } from "npm:zod@4"',
    '/* import { z } from "npm:zod@4" */',
    '/*\nimport { z } from "npm:zod@4"\n*/ 1',
    '1;\n  /** Such as\n\n  import { z } from "npm:zod@4";\n*/ 1',
    '/*\nimport { z } from "npm:zod@4"',
    'import "npm:../../etc/passwd"',
    'import "npm:__proto__"',
    'import "npm:zod@file:../x"',
    'import "npm:zod@https://a.example/x.tgz"',
    'import "npm:zod@4/../../x"',
    'import "npm:zo\\u0064@4"',
    `import "npm:${"a".repeat(215)}"`,
    `import "npm:zod@${"1.0.0 || ".repeat(200)}1"`,
    'import "npm:zod@4',
    "import npm:zod@4",
    'unimport("npm:zod@4")',
  ]) {
    it(`finds no package in ${text.slice(0, 60)}`, () => assert.equal(find(text), null));
  }

  it("finds the sub-paths of a requested package in any string, and nothing of other packages", () => {
    const text = `const name = fast ? "lodash/fp" : 'zod'; await import(name); import "lodash-es"; import "constructor"`;
    assert.deepEqual(find(text, { lodash: "4", zod: "^4" }), {
      ranges: { lodash: "4", zod: "^4" },
      entries: ["lodash/fp", "zod"],
    });
  });

  it("names the root of a requested package if the text names nothing of it", () => {
    assert.deepEqual(find("await import(name)", { zod: "^4" })?.entries, ["zod"]);
    assert.deepEqual(find('import { sha256 } from "@noble/hashes/sha2"', { "@noble/hashes": "1" })?.entries, [
      "@noble/hashes/sha2",
    ]);
  });

  it("adds the runtime of JSX for a package that has one", () => {
    const text = 'import React from "react"; import { Hono } from "npm:hono@4"; const a = <b/>';
    assert.deepEqual(find(text, { react: "19" })?.entries, [
      "hono",
      "hono/jsx/jsx-runtime",
      "react",
      "react/jsx-runtime",
    ]);
  });

  it("looks into all texts", () => {
    const texts = ['import "./lib.ts"', 'export * from "npm:zod@4"', 'import "npm:nanoid@5"'];
    assert.deepEqual(packagesOf(texts, null)?.ranges, { nanoid: "5", zod: "4" });
  });

  it("takes the range of the list that permits a package which is named without one", () => {
    assert.deepEqual(packagesOf(['import "npm:lodash"; import "npm:zod"'], null, (name) => `of-${name}`)?.ranges, {
      lodash: "of-lodash",
      zod: "of-zod",
    });
  });

  it("rejects two ranges of one package, also if one of them is requested", () => {
    assert.equal(
      codeOf(() => find('import "npm:zod@3"; import "npm:zod@4"')),
      "request_invalid",
    );
    assert.equal(
      codeOf(() => find('import "npm:zod@3"', { zod: "4" })),
      "request_invalid",
    );
  });

  it("rejects a text that names too many packages or modules", () => {
    const names = Array.from({ length: MAX_NAMED + 1 }, (_, at) => `import "npm:a${at}"`);
    assert.equal(
      codeOf(() => find(names.join("\n"))),
      "packages_too_large",
    );
    assert.equal(find(names.slice(1).join("\n"))?.entries.length, MAX_NAMED);
    const paths = Array.from({ length: 300 }, (_, at) => `"zod/a${at}"`);
    assert.equal(
      codeOf(() => find(paths.join(), { zod: "4" })),
      "packages_too_large",
    );
  });

  it("rejects a text with more strings that begin with npm: than it can look at in a moment", () => {
    assert.equal(find('"npm:a",'.repeat(5_000)), null);
    assert.equal(
      codeOf(() => find('"npm:a",'.repeat(5_001))),
      "packages_too_large",
    );
  });

  it("rejects a text with more spellings of ranges than it can compare in a moment", () => {
    const imports = Array.from({ length: 81 }, (_, at) => `import "npm:zod@>=4${" ".repeat(at)}"`);
    assert.equal(find([...imports.slice(1), ...imports.slice(1)].join("\n"))?.entries.length, 1);
    assert.equal(
      codeOf(() => find(imports.join("\n"))),
      "packages_too_large",
    );
    const paths = Array.from({ length: 1_001 }, (_, at) => `import "npm:zod@>=4/?${at}"`);
    assert.equal(find(paths.slice(1).join("\n")), null);
    assert.equal(
      codeOf(() => find(paths.join("\n"))),
      "packages_too_large",
    );
    const modules = Array.from({ length: 190 }, (_, at) => `import "npm:lodash@4/m${at}"`);
    assert.equal(find(modules.join("\n"))?.entries.length, 190);
  });

  it("scans hostile texts of megabytes", () => {
    for (const unit of ['"', "'\"`", '"x', "import ", "import(/*", "\\'", `"${"a".repeat(700)}`]) {
      assert.equal(find(unit.repeat(Math.ceil(2 ** 21 / unit.length))), null, unit);
    }
    for (const unit of ['"npm:"', "'npm:a/*'", '"npm:zod@4" ', '\n/*import"npm:a"']) {
      const text = unit.repeat(Math.ceil(2 ** 21 / unit.length));
      assert.equal(
        codeOf(() => find(text)),
        "packages_too_large",
        unit,
      );
    }
  });
});
