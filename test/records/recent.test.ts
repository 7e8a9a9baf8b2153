import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { EndedRun } from "../../src/records/ended-run.ts";
import { CONTAINER_BYTES, RecentRuns, RUN_BYTES } from "../../src/records/recent.ts";
import { seeded } from "../seeded.ts";
import { BOUNDS } from "./bounds.ts";
import { runOf, type RunOptions } from "./run-of.ts";

const MIB = 2 ** 20;

function ids(runs: readonly EndedRun[]): string[] {
  return runs.map(({ run }) => run);
}

function add(recent: RecentRuns, options: RunOptions): EndedRun {
  const run = runOf(options);
  recent.add(run);
  return run;
}

/** Computes the memory from what the ring holds. */
function held(recent: RecentRuns): number {
  let bytes = 0;
  for (const name of recent.names()) {
    const runs = recent.of(name);
    bytes += new Set(runs.map(({ family }) => family)).size * CONTAINER_BYTES;
    for (const run of runs) bytes += run.bytes + RUN_BYTES;
  }
  return bytes;
}

describe("the memory of the latest runs", () => {
  it("has the last 200 runs of each container, in the order of their ends", () => {
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: 64 * MIB });
    const runs = Array.from({ length: 250 }, () => add(recent, { container: "a" }));
    const other = add(recent, { container: "b" });
    assert.deepEqual(ids(recent.of("a")), ids(runs.slice(50)));
    assert.deepEqual(ids(recent.of("b")), [other.run]);
    assert.equal(recent.find("a", runs[49]!.run), null);
    assert.equal(recent.find("a", runs[50]!.run), runs[50]);
    assert.equal(recent.find("b", runs[60]!.run), null);
    assert.deepEqual(recent.of("c"), []);
  });

  it("counts a hint that a run gets after its end, and gives its bytes back with the run", () => {
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: 64 * MIB });
    let bytes = 100;
    const run: EndedRun = {
      ...runOf({ container: "a" }),
      get bytes() {
        return bytes;
      },
      hintLate: (hint) => {
        bytes += hint.length;
        return hint.length;
      },
    };
    recent.add(run);
    recent.hintLate("a", run.run, "x".repeat(500));
    recent.hintLate("a", "unknown", "x");
    recent.hintLate("unknown", run.run, "x");
    assert.equal(recent.bytes, CONTAINER_BYTES + RUN_BYTES + 600);
    for (let more = 0; more < 200; more++) add(recent, { container: "a" });
    assert.equal(recent.find("a", run.run), null);
    assert.equal(recent.bytes, held(recent));
  });

  it("has 64 KiB of console lines of each container; older records stay and count their lines as dropped", () => {
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: 64 * MIB });
    const runs = Array.from({ length: 12 }, () => add(recent, { printed: ["x".repeat(5_000), "y".repeat(5_000)] }));
    const kept = recent.of("demo").map((run) => run.kept().record);
    assert.deepEqual(ids(recent.of("demo")), ids(runs));
    const whole = kept.filter(({ console }) => console.length === 2);
    assert.equal(whole.length, 6);
    assert.deepEqual(
      whole,
      runs.slice(-6).map(({ run }) => kept.find((record) => record.run === run)),
    );
    for (const { console, dropped } of kept.slice(0, 6)) {
      assert.deepEqual([console, dropped], [[], { lines: 2, bytes: 10_000 }]);
    }
    assert.deepEqual(
      recent.of("demo").map(({ isWhole }) => isWhole),
      [...Array.from({ length: 6 }, () => false), ...Array.from({ length: 6 }, () => true)],
    );
    assert.equal(recent.bytes, held(recent));
    assert.ok(recent.bytes < 64 * 1_024 + 12 * RUN_BYTES + CONTAINER_BYTES);
  });

  it("has the first lines of a run that prints more than a container may have, until a later run prints", () => {
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: 64 * MIB });
    const large = add(recent, { printed: Array.from({ length: 30 }, () => "z".repeat(10_000)) });
    const { console, dropped } = recent.find("demo", large.run)!.kept().record;
    assert.deepEqual([console.length, dropped], [6, { lines: 24, bytes: 240_000 }]);
    const next = add(recent, { printed: ["w".repeat(10_000)] });
    assert.equal(recent.find("demo", large.run)!.kept().record.console.length, 0);
    assert.equal(recent.find("demo", next.run), next);
  });

  it("keeps a run without lines whole when its container has too many lines", () => {
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: 64 * MIB });
    const failed = add(recent, { status: "threw", error: { message: "m".repeat(40_000) } });
    add(recent, { printed: ["x".repeat(40_000)] });
    const kept = recent.find("demo", failed.run)!;
    assert.equal(kept.isWhole, true);
    assert.deepEqual(kept.kept(), failed.kept());
    assert.equal(recent.bytes, held(recent));
  });

  it("loses the least recently used container of a family first", () => {
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: MIB });
    const fill = (container: string): void => {
      for (let run = 0; run < 4; run++)
        add(recent, { container, status: "threw", error: { message: "m".repeat(9_000) } });
    };
    for (let container = 0; container < 20; container++) fill(`c${container}`);
    add(recent, { container: "c0" });
    for (let container = 20; container < 30; container++) fill(`c${container}`);
    const names = [...recent.names()];
    assert.ok(recent.bytes <= MIB);
    assert.equal(names.includes("c0"), true);
    assert.equal(names.includes("c1"), false);
    assert.equal(names.includes("c29"), true);
    assert.equal(recent.bytes, held(recent));
  });

  it("loses the older half of the only container of a family, and never its latest run", () => {
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: 100_000 });
    let latest: EndedRun | null = null;
    for (let run = 0; run < 100; run++) {
      latest = add(recent, { status: "threw", error: { message: "m".repeat(9_000) } });
      assert.ok(recent.bytes <= 100_000);
    }
    const runs = recent.of("demo");
    assert.equal(runs.at(-1), latest);
    assert.ok(runs.length >= 5, `${runs.length} runs`);
  });

  it("of a family that uses ten thousand names takes nothing from smaller families", () => {
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: MIB });
    const quiet = Array.from({ length: 50 }, (_, at) =>
      add(recent, { family: `quiet-${at % 5}`, container: `q${at % 10}` }),
    );
    for (let name = 0; name < 10_000; name++) add(recent, { family: "greedy", container: `g${name}` });
    for (const run of quiet) assert.equal(recent.find(run.container, run.run), run);
    const names = [...recent.names()];
    assert.ok(recent.bytes <= MIB);
    assert.ok(names.length < 1_000, `${names.length} names`);
    assert.equal(names.includes("g9999"), true);
    assert.equal(names.includes("g0"), false);
  });

  it("is shared by families of equal greed in equal parts", () => {
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: MIB });
    for (let run = 0; run < 20_000; run++)
      add(recent, { family: `f${run % 4}`, container: `c${run % 4}-${run % 3_001}` });
    const bytes = new Map<string, number>();
    for (const name of recent.names()) {
      for (const run of recent.of(name)) bytes.set(run.family, (bytes.get(run.family) ?? 0) + run.bytes + RUN_BYTES);
    }
    const shares = [...bytes.values()];
    assert.equal(shares.length, 4);
    assert.ok(Math.min(...shares) > 0.9 * Math.max(...shares), String(shares));
  });

  it("loses in a shared container only the runs of the larger family", () => {
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: MIB });
    const small = Array.from({ length: 20 }, () => add(recent, { family: "small", container: "shared" }));
    for (let run = 0; run < 100; run++) add(recent, { family: "large", container: "shared" });
    for (let name = 0; name < 5_000; name++) add(recent, { family: "large", container: `l${name}` });
    assert.deepEqual(ids(recent.of("shared")), ids(small));
    assert.equal(recent.bytes, held(recent));
  });

  it("stays within its limit, and counts exactly, whatever runs it receives", () => {
    const random = seeded();
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: 200_000 });
    for (let step = 0; step < 5_000; step++) {
      const printed = Array.from({ length: random.below(3) }, () => "p".repeat(random.below(20_000)));
      const status = random.below(4) === 0 ? ("threw" as const) : ("ok" as const);
      add(recent, { family: `f${random.below(7)}`, container: `c${random.below(30)}`, printed, status });
      assert.ok(recent.bytes <= 200_000, random.seed);
      if (step % 100 === 0) assert.equal(recent.bytes, held(recent), random.seed);
    }
    assert.equal(recent.bytes, held(recent));
  });

  it("holds no run that is larger than all of it", () => {
    const recent = new RecentRuns({ ...BOUNDS, recentRuns: 10_000 });
    add(recent, { status: "threw", error: { message: "m".repeat(20_000) } });
    assert.deepEqual([recent.bytes, [...recent.names()]], [0, []]);
  });
});
