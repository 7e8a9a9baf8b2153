import assert from "node:assert/strict";
import { it } from "node:test";

import { exposition } from "../../../src/telemetry/metrics/exposition.ts";
import { counter, gauge, histogram } from "../../../src/telemetry/metrics/family.ts";
import { Histogram } from "../../../src/telemetry/metrics/histogram.ts";

it("families are written with help, type and all series, and a label cannot break out of its quotes", async () => {
  const text = await exposition([
    gauge("caisson_ready", "Whether it\nserves.", 1),
    counter("caisson_runs_total", "Runs.", [
      [{ outcome: "ok" }, 2],
      [{ container: 'a"\\\n} 1', outcome: "ok" }, 3],
    ]),
  ]);
  assert.deepEqual(
    text.split("\n").filter((line) => line !== ""),
    [
      "# HELP caisson_ready Whether it\\nserves.",
      "# TYPE caisson_ready gauge",
      "caisson_ready 1",
      "# HELP caisson_runs_total Runs.",
      "# TYPE caisson_runs_total counter",
      'caisson_runs_total{outcome="ok"} 2',
      'caisson_runs_total{container="a\\"\\\\\\n} 1",outcome="ok"} 3',
    ],
  );
});

it("a histogram has cumulative buckets up to +Inf, a sum and a count for each set of labels", async () => {
  const warm = new Histogram();
  warm.observe(2, 3);
  const text = await exposition([
    histogram("caisson_run_start_seconds", "Starts.", [
      [{ start: "warm" }, warm],
      [{ start: "cold" }, new Histogram()],
    ]),
  ]);
  for (const line of [
    'caisson_run_start_seconds_bucket{start="warm",le="0.001"} 0',
    'caisson_run_start_seconds_bucket{start="warm",le="0.0025"} 3',
    'caisson_run_start_seconds_bucket{start="warm",le="+Inf"} 3',
    'caisson_run_start_seconds_sum{start="warm"} 0.006',
    'caisson_run_start_seconds_count{start="warm"} 3',
    'caisson_run_start_seconds_count{start="cold"} 0',
  ]) {
    assert.ok(text.split("\n").includes(line), `${line} is not in\n${text}`);
  }
});
