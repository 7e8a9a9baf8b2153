import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { Ahead } from "../../../src/sandbox/confined/ahead.ts";

describe("what is made ahead", () => {
  it("is nothing until the first was asked for, then one more than was", async () => {
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

  it("fails only for who asks", async () => {
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

  it("is no more once it was closed", async () => {
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
