import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { faultsOf, formatNumber, rowResult } from "../../bench/results/results.ts";
import { growthMiB } from "../../bench/rows/module-growth.ts";
import { sampleResults, sampleRow } from "./sample-results.ts";

const MIB = 2 ** 20;

describe("the results of the benchmark", () => {
  it("have the median of the rounds as the value of a figure", () => {
    const { figures, medians } = rowResult(sampleRow("row"), [
      { ratio: 0.9, perSecond: 1 },
      { ratio: 0.1, perSecond: 3 },
      { ratio: 0.6, perSecond: 2 },
    ]);
    assert.equal(figures[0]!.value, 0.6);
    assert.deepEqual(medians, { ratio: 0.6, perSecond: 2 });
  });

  it("compare a figure with its budget and its aim in the direction that is better", () => {
    const row = sampleRow("row");
    const less = sampleRow("row", { better: "less", aim: 5, budget: 10 });
    const cases = [
      [row, 0.4, [false, false]],
      [row, 0.5, [true, false]],
      [row, 0.75, [true, true]],
      [less, 11, [false, false]],
      [less, 10, [true, false]],
      [less, 5, [true, true]],
    ] as const;
    for (const [each, ratio, judged] of cases)
      assert.deepEqual(judge(rowResult(each, [{ ratio }])), judged, `${ratio}`);
  });

  it("judge nothing without a bound or without a value", () => {
    const unbounded = rowResult(sampleRow("row", { aim: null, budget: null }), [{ ratio: 0.1 }]);
    const unmeasured = rowResult(sampleRow("row"), []);
    assert.deepEqual(
      [judge(unbounded), judge(unmeasured)],
      [
        [null, null],
        [null, null],
      ],
    );
  });

  it("name each figure below its budget with both numbers", () => {
    const worse = rowResult(sampleRow("warm"), [{ ratio: 0.31 }]);
    const held = rowResult(sampleRow("new"), [{ ratio: 0.61 }]);
    assert.deepEqual(faultsOf({ rows: [worse, held] }), ["warm: runs: 0.31 of bare, budget 0.50 of bare"]);
  });

  it("name each row of the service that was not measured, and no peer", () => {
    const failed = rowResult(sampleRow("burst"), [], "no wall holds");
    const { rows } = sampleResults();
    assert.deepEqual(faultsOf({ rows: [...rows, failed] }), ["burst: not measured: no wall holds"]);
  });

  it("have numbers with as many digits as they deserve", () => {
    const texts = [0, 0.00123, 0.5, 2.345, 12.34, 443.2, 1_234_567].map(formatNumber);
    assert.deepEqual(texts, ["0", "0.0012", "0.50", "2.35", "12.3", "443", "1,234,567"]);
  });
});

describe("the growth of a guest's heap", () => {
  it("is the growth of its minimum from the first half of its life to the second", () => {
    const flat = [...saw(10), ...saw(10)].map((heap) => ({ guest: 1, heap }));
    const grown = [...saw(10), ...saw(17)].map((heap) => ({ guest: 2, heap }));
    assert.equal(growthMiB(flat), 0);
    assert.equal(growthMiB([...flat, ...grown]), 7);
  });

  it("is unknown if no guest lived long enough", () => {
    assert.throws(() => growthMiB([{ guest: 1, heap: 1 }]), /no guest lived long enough/);
  });
});

function judge({ figures }: ReturnType<typeof rowResult>): (boolean | null)[] {
  return [figures[0]!.isWithinBudget, figures[0]!.reachesAim];
}

/** Returns sizes of a heap that grows and is collected. */
function saw(baseMiB: number): number[] {
  return Array.from({ length: 20 }, (_, at) => (baseMiB + (at % 5)) * MIB);
}
