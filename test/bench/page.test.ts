import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { documented, madeFromResults, withFigures } from "../../bench/results/page.ts";
import { picture } from "../../bench/results/picture.ts";
import { table } from "../../bench/results/table.ts";
import { sampleResults } from "./sample-results.ts";

const PAGE = "# A page\n\n<!-- npm run bench: -->\n<!-- . -->\n\nThe end\n";

describe("the page of the benchmark", () => {
  it("has the figures of bench/results.json, if there is one", async () => {
    const made = await madeFromResults();
    if (made !== null) assert.deepEqual(await documented(), made, "run npm run docs");
  });

  it("has no figures and no picture before there are results", async () => {
    if ((await madeFromResults()) !== null) return;
    const { page, picture: drawn } = await documented();
    assert.match(page, /<!-- npm run bench: -->\n<!-- \. -->/);
    assert.equal(drawn, null);
  });

  it("names the machine, the date, the commit and the rounds", () => {
    const page = withFigures(PAGE, sampleResults());
    for (const part of [
      "2026-01-02",
      "A <fast> & quiet one, 2 cores, 8 GiB",
      "Linux 6.1.0",
      "Node 24.0.0",
      "0123456",
    ]) {
      assert.ok(page.includes(part), part);
    }
    assert.match(page, /Rounds: 5, .*Seconds of each load: 3\./);
  });

  it("keeps its other text, also if the figures are written again", () => {
    const once = withFigures(PAGE, sampleResults());
    assert.ok(once.startsWith("# A page\n") && once.endsWith("\nThe end\n"));
    assert.equal(withFigures(once, sampleResults()), once);
  });

  it("must have a part for the figures", () => {
    assert.throws(() => withFigures("# A page\n", sampleResults()), /no part for the figures/);
  });
});

describe("the table of the benchmark", () => {
  it("has each figure with its unit, its aim, its budget, and what it was computed from", () => {
    const row = lineWith("the row new-body");
    assert.deepEqual(row, [
      "the row new-body",
      "runs",
      "0.50 of bare",
      "30,000/s of 60,000/s, 26.0 µs",
      "0.75",
      "0.50",
    ]);
  });

  it("compares the service with other runtimes of a version", () => {
    assert.deepEqual(lineWith("caisson, one container").slice(2), ["30,000", "0.50", "0.25 ms", "-"]);
    assert.deepEqual(lineWith("slow-one"), ["slow-one 1.2.3", "an isolate", "60", "0.0010", "-", "-"]);
  });

  it("gives the reason why a runtime was not measured", () => {
    assert.match(table(sampleResults()), /^- the row peer-b was not measured: npm ci failed$/m);
  });
});

describe("the picture of the benchmark", () => {
  it("has a bar for each runtime that was measured, the fastest first", () => {
    const texts = [...picture(sampleResults()).matchAll(/>([^<>]+)<\/text><rect/g)].map(([, text]) => text);
    assert.deepEqual(texts, ["caisson, function body", "slow-one"]);
  });

  it("has longer bars for higher rates, within its frame", () => {
    const widths = [...picture(sampleResults()).matchAll(/<rect x="250" y="\d+" width="([\d.]+)"/g)].map(([, width]) =>
      Number(width),
    );
    assert.ok(widths[0]! > widths[1]! && widths[0]! < 650, widths.join(" "));
  });

  it("escapes what has a meaning in SVG", () => {
    assert.match(picture(sampleResults()), /A &lt;fast> &amp; quiet one, 2 cores/);
  });
});

function lineWith(start: string): string[] {
  const line = table(sampleResults())
    .split("\n")
    .find((each) => each.startsWith(`| ${start}`));
  return line!
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}
