import assert from "node:assert/strict";
import { SourceMap, type SourceMapping } from "node:module";
import { describe, it } from "node:test";

import { buildSync } from "esbuild";
import * as fc from "fast-check";

import { find } from "../../src/guest/source-map-segments.ts";
import { InlineMap } from "../../src/guest/source-map.ts";
import { shortName } from "../../src/guest/source-names.ts";

const ORIGINAL = `interface User { name: string }

function nameOf(user: User | undefined): string {
  return user!.name;
}
export default async (): Promise<string> => nameOf(undefined);
`;

/** Returns ORIGINAL as a bundler writes it. */
function bundled(minify: boolean): string {
  const stdin = { contents: ORIGINAL, sourcefile: "../src/index.ts", loader: "ts" as const };
  const { outputFiles } = buildSync({ stdin, bundle: true, write: false, sourcemap: "inline", format: "esm", minify });
  return outputFiles[0]!.text;
}

function comment(map: unknown, head = "application/json;base64"): string {
  const text = typeof map === "string" ? map : JSON.stringify(map);
  const data = head.endsWith("base64") ? Buffer.from(text).toString("base64") : encodeURIComponent(text);
  return `throw 1\n//# sourceMappingURL=data:${head},${data}`;
}

const SMALL = { version: 3, sources: ["a.ts"], sourcesContent: ["text"], mappings: "AAAA;AACA" };

describe("an inline source map", () => {
  it("gives the original file, line, column and text of a position in a bundle", () => {
    for (const minify of [false, true]) {
      const text = bundled(minify);
      const before = text.slice(0, text.indexOf(".name") + 1).split("\n");
      const generated = { line: before.length, column: before.at(-1)!.length + 1 };
      const { file, line, text: original } = InlineMap.of(text)!.originalOf(generated)!;
      assert.deepEqual([file, line, original], ["src/index.ts", 4, ORIGINAL]);
    }
  });

  it("is read in base64 and in the encoding of URLs, with and without a charset", () => {
    for (const head of [
      "application/json;base64",
      "application/json;charset=utf-8;base64",
      "application/json",
      "application/json;charset=utf-8",
    ]) {
      assert.deepEqual(InlineMap.of(comment(SMALL, head))?.originalOf({ line: 2, column: 5 }), {
        file: "a.ts",
        line: 2,
        column: 1,
        text: "text",
      });
    }
  });

  it("is ignored if it is no map, is not at the end, or is too long", () => {
    for (const text of [
      "throw 1",
      comment("{"),
      comment("null"),
      comment([]),
      comment({ ...SMALL, version: 2 }),
      comment({ ...SMALL, mappings: 1 }),
      comment({ ...SMALL, sources: { length: 1e9 } }),
      comment({ version: 3, sections: [{ offset: { line: 0, column: 0 }, map: SMALL }] }),
      comment(SMALL, "text/html;base64"),
      `${comment(SMALL)}\nthrow 2`,
      `const text = \`${comment(SMALL)}\``,
      comment(SMALL).replace("//# ", "    "),
      "//# sourceMappingURL=data:application/json,%E0%A4%A",
      "//# sourceMappingURL=data:application/json;base64",
      "sourceMappingURL=data:",
      `//# sourceMappingURL=data:application/json;base64,${"A".repeat(5 * 2 ** 20)}`,
      comment(`{"version":3,"sources":${"[".repeat(1e5)}`),
    ]) {
      assert.equal(InlineMap.of(text), null, text.slice(0, 120));
    }
  });

  it("gives nothing for a position that it does not cover, and for malformed members", () => {
    const at = { line: 2, column: 1 };
    for (const wrong of [
      { mappings: "" },
      { mappings: "AAAA" },
      { mappings: ";A" },
      { mappings: ";IACA" },
      { mappings: ";AADA" },
      { mappings: ";AAAD" },
      { mappings: ";ADAA" },
      { mappings: ";ACAA" },
      { mappings: ";AAAAAA" },
      { mappings: ";gggggggggggg" },
      { mappings: ";é" },
      { mappings: "AAAA;AAAAg" },
      { sources: [] },
      { sources: [null] },
      { sources: [{ toString: "no" }] },
    ]) {
      assert.equal(InlineMap.of(comment({ ...SMALL, ...wrong }))!.originalOf(at), null, JSON.stringify(wrong));
    }
    for (const sourcesContent of [undefined, null, [], [1], { 0: "text" }]) {
      assert.equal(InlineMap.of(comment({ ...SMALL, sourcesContent }))!.originalOf(at)!.text, null);
    }
  });

  it("takes members only from its own text", () => {
    const polluted = '{"version":3,"sources":["a.ts"],"__proto__":{"mappings":"AAAA"}}';
    assert.equal(InlineMap.of(comment(polluted)), null);
  });
});

describe("the search in mappings", () => {
  it("finds what Node finds in the output of a bundler", () => {
    for (const minify of [false, true]) {
      const text = bundled(minify);
      const data = text.slice(text.lastIndexOf(",") + 1);
      const map = JSON.parse(Buffer.from(data, "base64").toString()) as ConstructorParameters<typeof SourceMap>[0];
      const nodes = new SourceMap(map);
      text.split("\n").forEach((line, at) => {
        for (let column = 0; column < Math.min(line.length, 300); column += 1) {
          const entry = nodes.findEntry(at, column) as Partial<SourceMapping>;
          // Node continues a line with the last segment of an earlier line.
          if (entry.generatedLine !== at) continue;
          const found = find(map.mappings, at, column);
          assert.deepEqual([found?.line, found?.column], [entry.originalLine, entry.originalColumn]);
        }
      });
    }
  });

  it("ends with a position or null for any text", () => {
    const unit = fc.constantFrom("A", "C", "D", "g", "h", "/", "+", ",", ";", "é", "\0", "=");
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 40 }), fc.nat(4), fc.nat(40), (units, line, column) => {
        const found = find(units.join(""), line, column);
        if (found) for (const each of Object.values(found)) assert.ok(Number.isSafeInteger(each) && each >= 0);
      }),
    );
  });
});

describe("the name of a source", () => {
  it("is a short relative path", () => {
    for (const [source, name] of [
      ["../src/index.ts", "src/index.ts"],
      ["./a.ts", "a.ts"],
      ["webpack://my-app/./src/a.ts?1f2e", "src/a.ts"],
      ["webpack:///src/a.ts", "src/a.ts"],
      ["/home/me/projects/app/src/a.ts", "app/src/a.ts"],
      ["C:\\Users\\me\\app\\src\\a.ts", "app/src/a.ts"],
      ["file:///home/me/app/src/a.ts", "app/src/a.ts"],
      ["../../node_modules/left/index.js", "node_modules/left/index.js"],
      ["", "unknown"],
      ["..", "unknown"],
    ] as const) {
      assert.equal(shortName(source), name);
    }
  });

  it("has at most 200 characters and no control characters", () => {
    assert.equal(shortName("x".repeat(1e6)).length, 200);
    assert.equal(shortName("a\n    at evil\u202e\u0000.ts"), "a?    at evil??.ts");
  });
});
