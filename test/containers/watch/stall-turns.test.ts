import assert from "node:assert/strict";
import { it } from "node:test";

import { giveTurns, type Waiting } from "../../../src/containers/watch/stall-turns.ts";

function waitingSince(...pingedMs: readonly number[]): Waiting[] {
  return pingedMs.map((since) => ({ pingedMs: since, turnMs: 0, hasTurn: false }));
}

function places(waiting: readonly Waiting[]): number[] {
  return waiting.flatMap(({ hasTurn }, index) => (hasTurn ? [index] : []));
}

it("as many guests have a turn as there are processors, the longest silent guest first", () => {
  const waiting = waitingSince(300, 100, 400, 200);
  for (const [processors, expected] of [
    [1, [1]],
    [2, [1, 3]],
    [9, [0, 1, 2, 3]],
  ] as const) {
    assert.deepEqual(places(giveTurns(waiting, 25, processors)), expected);
  }
  assert.deepEqual(giveTurns([], 25, 2), []);
});

it("the time of a guest counts only while the guest has a turn", () => {
  const first = giveTurns(waitingSince(100, 200), 25, 1);
  assert.deepEqual(
    first.map(({ turnMs }) => turnMs),
    [0, 0],
  );
  const second = giveTurns(first, 30, 1);
  assert.deepEqual(
    second.map(({ turnMs }) => turnMs),
    [30, 0],
  );
});

it("a guest that needs more than half a second goes back by half a second in the order", () => {
  let waiting = giveTurns(waitingSince(200, 500, 300), 25, 1);
  const order: number[] = [];
  for (const sinceMs of [499, 1, 500, 500]) {
    waiting = giveTurns(waiting, sinceMs, 1);
    order.push(...places(waiting));
  }
  // After the turns of all three, the first is the longest silent again.
  assert.deepEqual(order, [0, 2, 1, 0]);
});
