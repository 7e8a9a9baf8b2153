import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { RunTable } from "../../../src/containers/guest/run-table.ts";

describe("RunTable", () => {
  it("returns an added run by its id, until it is taken", () => {
    const inFlight = new RunTable<string>();
    const id = inFlight.add("a");
    assert.equal(inFlight.get(id), "a");
    assert.equal(inFlight.take(id), "a");
    assert.equal(inFlight.take(id), null);
    assert.equal(inFlight.get(id), null);
  });

  it("does not confuse the next run of a slot with its last run", () => {
    const inFlight = new RunTable<string>();
    const first = inFlight.add("a");
    inFlight.take(first);
    const second = inFlight.add("b");
    assert.notEqual(second, first);
    assert.equal(inFlight.get(first), null);
    assert.equal(inFlight.get(second), "b");
  });

  it("returns the id of the only run", () => {
    const inFlight = new RunTable<string>();
    assert.equal(inFlight.only, null);
    const id = inFlight.add("a");
    assert.equal(inFlight.only, id);
    const other = inFlight.add("b");
    assert.equal(inFlight.only, null);
    inFlight.take(id);
    assert.equal(inFlight.only, other);
  });

  it("finds no run by a forged id", () => {
    const inFlight = new RunTable<string>();
    inFlight.add("a");
    for (const id of [0, 1, 65_535, 65_537, 131_072, 2 ** 32 - 1]) assert.equal(inFlight.take(id), null);
    assert.equal(inFlight.size, 1);
  });

  it("never assigns the id 0, which means no run", () => {
    const inFlight = new RunTable<string>();
    const seen = new Set<number>();
    for (let turn = 0; turn < 2 ** 16 + 2; turn++) {
      const id = inFlight.add("a");
      seen.add(id);
      assert.equal(inFlight.take(id), "a");
    }
    assert.ok(!seen.has(0));
    assert.equal(seen.size, 2 ** 16 - 1);
  });

  it("distinguishes the id of a run that has ended from an id that no run has had, also when the ids of a slot begin again", () => {
    const inFlight = new RunTable<string>();
    const ended = (): number => {
      const id = inFlight.add("a");
      inFlight.take(id);
      return id;
    };
    const first = ended();
    const flying = inFlight.add("b");
    assert.deepEqual(
      [first, flying, flying + 65_536, 0, 1].map((id) => inFlight.had(id)),
      [true, false, false, false, false],
    );
    inFlight.take(flying);
    let last = 0;
    for (let turn = 0; turn < 2 ** 16 + 2; turn++) last = ended();
    assert.deepEqual(
      [last, first, flying, last - 65_536].map((id) => inFlight.had(id)),
      [true, true, true, true],
    );
    assert.deepEqual(
      [0, 1].map((id) => inFlight.had(id)),
      [false, false],
    );
  });

  it("behaves like a map by id", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 200 }), (steps) => {
        const inFlight = new RunTable<number>();
        const model = new Map<number, number>();
        for (const [turn, step] of steps.entries()) {
          const known = [...model.keys()];
          if (step < 6 || known.length === 0) model.set(inFlight.add(turn), turn);
          else {
            const id = known[step % known.length]!;
            assert.equal(inFlight.take(id), model.get(id));
            model.delete(id);
          }
          assert.equal(inFlight.size, model.size);
          assert.deepEqual(new Map(inFlight), model);
        }
      }),
    );
  });
});
