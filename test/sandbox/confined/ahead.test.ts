import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { Ahead } from "../../../src/sandbox/confined/ahead.ts";

describe("Ahead", () => {
  it("prepares nothing until the first item is taken, and then always one item", async () => {
    let made = 0;
    const ahead = new Ahead(() => ++made);
    await turn();
    assert.equal(made, 0);
    assert.equal(ahead.take(), 1);
    assert.equal(made, 1);
    await turn();
    assert.equal(made, 2);
    assert.deepEqual([ahead.take(), ahead.take()], [2, 3]);
    await turn();
    assert.equal(made, 4);
  });

  it("throws only to the caller of take", async () => {
    let fault: Error | null = null;
    const ahead = new Ahead(() => {
      if (fault) throw fault;
      return "one";
    });
    assert.equal(ahead.take(), "one");
    fault = new Error("no room");
    await turn();
    assert.throws(() => ahead.take(), /no room/);
    fault = null;
    assert.equal(ahead.take(), "one");
  });

  it("prepares no items after it is closed", async () => {
    let made = 0;
    const ahead = new Ahead(() => ++made);
    ahead.take();
    ahead.close();
    await turn();
    ahead.take();
    await turn();
    assert.equal(made, 2);
  });
});
