import assert from "node:assert/strict";
import { it } from "node:test";

import { nextTurn } from "../src/next-turn.ts";

/** Work of several slices, each of which is written down. */
async function work(holder: string, slices: number, done: string[]): Promise<void> {
  for (let slice = 0; slice < slices; slice++) {
    await nextTurn(holder);
    done.push(holder);
  }
}

it("each turn of the event loop has one slice of work", async () => {
  const done: string[] = [];
  const all = Promise.all([work("a", 3, done), work("b", 3, done)]);
  for (let turn = 1; turn <= 6; turn++) {
    await new Promise(setImmediate);
    assert.ok(done.length <= turn, `${done.length} slices in ${turn} turns`);
  }
  await all;
  assert.equal(done.length, 6);
});

it("a holder with little work does not wait for all that another holder has asked for", async () => {
  const done: string[] = [];
  const greedy = Array.from({ length: 100 }, () => work("greedy", 10, done));
  const quiet = work("quiet", 10, done);
  await quiet;
  assert.ok(done.length <= 22, `${done.length} slices`);
  await Promise.all(greedy);
  assert.equal(done.length, 1_010);
});

it("work that begins when all is done is done as well", async () => {
  for (const holder of ["a", "a", "b"]) {
    const done: string[] = [];
    await work(holder, 2, done);
    assert.deepEqual(done, [holder, holder]);
  }
});
