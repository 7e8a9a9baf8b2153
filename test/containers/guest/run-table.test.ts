import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { RunTable } from "../../../src/containers/guest/run-table.ts";

describe("Flights", () => {
  it("gives back what was added under an id, once", () => {
    const flights = new RunTable<string>();
    const id = flights.add("a");
    assert.equal(flights.get(id), "a");
    assert.equal(flights.take(id), "a");
    assert.equal(flights.take(id), null);
    assert.equal(flights.get(id), null);
  });

  it("does not take a slot's next guestRun for its last one", () => {
    const flights = new RunTable<string>();
    const first = flights.add("a");
    flights.take(first);
    const second = flights.add("b");
    assert.notEqual(second, first);
    assert.equal(flights.get(first), null);
    assert.equal(flights.get(second), "b");
  });

  it("knows the only one there is", () => {
    const flights = new RunTable<string>();
    assert.equal(flights.only, null);
    const id = flights.add("a");
    assert.equal(flights.only, id);
    const other = flights.add("b");
    assert.equal(flights.only, null);
    flights.take(id);
    assert.equal(flights.only, other);
  });

  it("knows no id that a stranger makes up", () => {
    const flights = new RunTable<string>();
    flights.add("a");
    for (const id of [0, 1, 65_535, 65_537, 131_072, 2 ** 32 - 1]) assert.equal(flights.take(id), null);
    assert.equal(flights.size, 1);
  });

  it("never gives the id 0, which stands for none", () => {
    const flights = new RunTable<string>();
    const seen = new Set<number>();
    for (let turn = 0; turn < 2 ** 16 + 2; turn++) {
      const id = flights.add("a");
      seen.add(id);
      assert.equal(flights.take(id), "a");
    }
    assert.ok(!seen.has(0));
    assert.equal(seen.size, 2 ** 16 - 1);
  });

  it("behaves as a map from ids would", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 200 }), (steps) => {
        const flights = new RunTable<number>();
        const model = new Map<number, number>();
        for (const [turn, step] of steps.entries()) {
          const known = [...model.keys()];
          if (step < 6 || known.length === 0) model.set(flights.add(turn), turn);
          else {
            const id = known[step % known.length]!;
            assert.equal(flights.take(id), model.get(id));
            model.delete(id);
          }
          assert.equal(flights.size, model.size);
          assert.deepEqual(new Map(flights), model);
        }
      }),
    );
  });
});
