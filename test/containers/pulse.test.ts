import assert from "node:assert/strict";
import { it } from "node:test";

import { Pulse } from "../../src/containers/pulse.ts";

it("only the answer that a ping asks for is one, and only once", () => {
  const pulse = new Pulse();
  assert.equal(pulse.take(0), false);
  const nonce = pulse.ping(100);
  assert.equal(pulse.take(nonce ^ 1), false);
  assert.equal(pulse.pingedMs, 100);
  assert.equal(pulse.take(nonce), true);
  assert.deepEqual([pulse.pingedMs, pulse.lastPingMs], [null, 100]);
  assert.equal(pulse.take(nonce), false);
  // The next one cannot be told from the last.
  assert.equal(new Set(Array.from({ length: 50 }, () => pulse.ping(200))).size, 50);
});

it("whoever waits for the answer hears of it, or of the end", async () => {
  const pulse = new Pulse();
  await pulse.heard();
  for (const way of ["answer", "end"]) {
    const nonce = pulse.ping(0);
    const heard = [pulse.heard(), pulse.heard()];
    assert.equal(pulse.isSilent(249), false);
    assert.equal(pulse.isSilent(250), true);
    if (way === "answer") pulse.take(nonce);
    else pulse.end();
    await Promise.all(heard);
    assert.equal(pulse.isSilent(1_000), false);
  }
});
