import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { cellBounds, type CellBounds, UsageCells } from "../../../src/records/usage/cells.ts";
import { COLUMNS, WIDTH } from "../../../src/records/usage/columns.ts";
import { OTHER, type UsageSubject } from "../../../src/records/usage/usage.ts";
import { BOUNDS } from "../bounds.ts";

const MINUTE_MS = 60_000;

function subject(members: Partial<UsageSubject> = {}): UsageSubject {
  return { container: "demo", task: null, token: "t", family: "f", ...members };
}

function cellsWith(bounds: Partial<CellBounds> = {}): UsageCells {
  return new UsageCells({ ...cellBounds(BOUNDS), ...bounds });
}

interface Taken {
  readonly family: string;
  readonly container: string;
  readonly token: string;
  readonly task: string;
  readonly code: string;
  readonly minute: number;
  readonly counts: Record<string, number>;
}

/** Returns all waiting cells, with the counts that are not 0. */
function takeAll(cells: UsageCells): Taken[] {
  const batch = cells.take(Number.MAX_SAFE_INTEGER);
  if (!batch) return [];
  return Array.from({ length: batch.texts.length / 5 }, (_, index) => {
    const [family, container, token, task, code] = batch.texts.slice(index * 5, index * 5 + 5);
    const [minute, ...numbers] = batch.numbers.subarray(index * (WIDTH + 1), (index + 1) * (WIDTH + 1));
    const counts = Object.fromEntries(COLUMNS.map((name, at) => [name, numbers[at]!]).filter(([, count]) => count));
    return { family, container, token, task, code, minute, counts } as Taken;
  });
}

function sum(taken: readonly Taken[], column: string): number {
  return taken.reduce((total, { counts }) => total + (counts[column] ?? 0), 0);
}

describe("the counts in memory", () => {
  it("count a run in the minute of its admission, also if it ends in a later minute", () => {
    const cells = cellsWith();
    const cell = cells.admitted(subject(), 5 * MINUTE_MS);
    assert.equal(cells.admitted(subject(), 5 * MINUTE_MS + 1), cell);
    assert.notEqual(cells.admitted(subject(), 6 * MINUTE_MS), cell);
    cells.ended(cell, "ok", 12, 700);
    cells.ended(cell, "threw", 1e6, 0);
    cells.addCpu(cell, 2.5);
    const [first, second] = takeAll(cells);
    assert.deepEqual([first?.minute, second?.minute], [5, 6]);
    assert.deepEqual(first?.counts, {
      admitted: 2,
      ended: 2,
      run_ms: 1_000_012,
      cpu_ms: 2.5,
      egress_bytes: 700,
      ended_ok: 1,
      ended_threw: 1,
      duration_30: 1,
      duration_more: 1,
    });
    assert.deepEqual(second?.counts, { admitted: 1 });
  });

  it("begin from 0 after they were taken, and wait again after the next change", () => {
    const cells = cellsWith();
    const cell = cells.admitted(subject(), 0);
    assert.equal(takeAll(cells).length, 1);
    assert.deepEqual(takeAll(cells), []);
    cells.ended(cell, "ok", 0, 0);
    assert.deepEqual(
      takeAll(cells).map(({ counts }) => counts),
      [{ ended: 1, ended_ok: 1, duration_1: 1 }],
    );
  });

  it("keep subjects apart by container, task, token and family, and refusals by code", () => {
    const cells = cellsWith();
    const others = [{}, { container: "x" }, { task: "x" }, { token: null }, { token: "x" }, { family: "x" }];
    for (const members of others) cells.admitted(subject(members), 0);
    for (const code of ["token_limited", "token_limited", "overloaded"]) cells.refused(subject(), code, 0);
    const taken = takeAll(cells);
    assert.equal(taken.length, others.length + 2);
    assert.deepEqual(
      taken.filter(({ code }) => code !== "").map(({ code, counts }) => [code, counts]),
      [
        ["token_limited", { refused: 2 }],
        ["overloaded", { refused: 1 }],
      ],
    );
  });

  it("accept numbers that are not finite as 0", () => {
    const cells = cellsWith();
    const cell = cells.admitted(subject(), 0);
    cells.ended(cell, "ok", Number.NaN, Infinity);
    cells.addCpu(cell, -1);
    assert.deepEqual(takeAll(cells)[0]?.counts, { admitted: 1, ended: 1, ended_ok: 1, duration_1: 1 });
  });
});

describe("the bounds of a family", () => {
  it("10 000 container names of 50 child tokens keep their names, and the further names count together", () => {
    const cells = cellsWith();
    const names = 10_000;
    let runs = 0;
    for (let at = 0; at < 3 * names; at++) {
      const cell = cells.admitted(subject({ container: `c${at}`, token: `t${at % 50}` }), at % MINUTE_MS);
      cells.ended(cell, "ok", 1, 0);
      runs++;
    }
    const taken = takeAll(cells);
    const named = new Set(taken.map(({ container }) => container));
    assert.ok(named.has(OTHER) && named.size === names + 1, `${named.size} containers`);
    assert.deepEqual([sum(taken, "admitted"), sum(taken, "ended_ok")], [runs, runs]);
    assert.ok(taken.length <= names + 50, `${taken.length} cells`);
  });

  it("many tokens in many containers take a bounded number of subjects, with the exact sum of each container", () => {
    const cells = cellsWith({ familySubjects: 1_000 });
    for (let token = 0; token < 50; token++) {
      for (let container = 0; container < 100; container++) {
        cells.admitted(subject({ container: `c${container}`, token: `t${token}` }), 0);
      }
    }
    const taken = takeAll(cells);
    assert.ok(taken.length <= 1_000 + 100, `${taken.length} cells`);
    for (let at = 0; at < 100; at++) {
      assert.equal(
        sum(
          taken.filter(({ container }) => container === `c${at}`),
          "admitted",
        ),
        50,
      );
    }
  });

  it("a family that uses all subjects leaves every other family its own", () => {
    const cells = cellsWith({ subjects: 1_000, leastSubjects: 10 });
    for (let at = 0; at < 5_000; at++) cells.admitted(subject({ container: `c${at}`, family: "flood" }), 0);
    for (let at = 0; at < 20; at++) cells.admitted(subject({ container: `c${at}`, family: "quiet" }), 0);
    const taken = takeAll(cells);
    const quiet = taken.filter(({ family }) => family === "quiet");
    assert.deepEqual([quiet.length, quiet.at(-1)?.container, quiet.at(-1)?.counts["admitted"]], [11, OTHER, 10]);
    assert.equal(sum(taken, "admitted"), 5_020);
    assert.ok(taken.length <= 1_020, `${taken.length} cells`);
  });

  it("refused requests name a hundred containers an hour without a run, and the further ones count together", () => {
    const cells = cellsWith();
    for (let at = 0; at < 5_000; at++) cells.refused(subject({ container: `c${at}` }), "token_limited", 0);
    cells.admitted(subject({ container: "used" }), 0);
    for (const token of ["t", "u"]) cells.refused(subject({ container: "used", token }), "container_limited", 0);
    const taken = takeAll(cells);
    const named = new Set(taken.map(({ container }) => container));
    assert.ok(named.size <= 102, `${named.size} containers`);
    assert.deepEqual(
      [sum(taken, "refused"), taken.find(({ container }) => container === OTHER)?.counts["refused"]],
      [5_002, 4_900],
    );
    const used = taken.filter(({ container, code }) => container === "used" && code !== "");
    assert.deepEqual(
      used.map(({ token }) => token),
      ["t", OTHER],
      "a container with runs keeps its name",
    );
  });

  it("a container that was refused has its own counts from its first run on", () => {
    const cells = cellsWith({ familyRefused: 0 });
    for (const turn of [1, 2]) {
      cells.refused(subject(), "overloaded", 0);
      if (turn === 1) cells.admitted(subject(), 0);
    }
    const refusals = takeAll(cells).filter(({ code }) => code !== "");
    assert.deepEqual(
      refusals.map(({ container }) => container),
      [OTHER, "demo"],
    );
  });

  it("refusals with any names and codes are bounded too", () => {
    const cells = cellsWith({ familySubjects: 100 });
    for (let at = 0; at < 1_000; at++) cells.refused(subject({ container: `c${at}` }), `code_${at % 10}`, 0);
    const taken = takeAll(cells);
    assert.ok(taken.length <= 110, `${taken.length} cells`);
    assert.equal(sum(taken, "refused"), 1_000);
  });

  it("a new hour has its own names", () => {
    const cells = cellsWith({ familyContainers: 1 });
    for (const hour of [0, 1]) {
      for (const container of [`a${hour}`, `b${hour}`]) cells.admitted(subject({ container }), hour * 60 * MINUTE_MS);
    }
    assert.deepEqual(
      takeAll(cells).map(({ container }) => container),
      ["a0", OTHER, "a1", OTHER],
    );
  });

  it("counts without a place are lost and counted, with the outcomes of their runs", () => {
    // A place of 320 bytes for each container, and one family never has all places.
    const cells = cellsWith({ waitingBytes: 3 * 320 });
    const stored = cells.admitted(subject({ container: "a" }), 0);
    cells.admitted(subject({ container: "b" }), 0);
    const lost = cells.admitted(subject({ container: "c" }), 0);
    assert.equal(cells.lost, 1);
    cells.ended(stored, "ok", 1, 0);
    cells.ended(lost, "ok", 1, 0);
    const taken = takeAll(cells);
    assert.deepEqual([sum(taken, "admitted"), sum(taken, "ended")], [2, 1]);
    cells.ended(lost, "ok", 1, 0);
    assert.deepEqual(takeAll(cells), []);
  });
});
