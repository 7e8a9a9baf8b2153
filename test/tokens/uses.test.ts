import assert from "node:assert/strict";
import { mock, test } from "node:test";

import type { Claims } from "../../src/tokens/claims.ts";
import type { TokenUse } from "../../src/tokens/store.ts";
import { Uses } from "../../src/tokens/uses.ts";

/** A store that adds up uses, and fails on request. */
class UseStore {
  readonly stored = new Map<string, TokenUse>();
  readonly sizes: number[] = [];
  broken = false;

  async addUse(uses: ReadonlyMap<string, TokenUse>): Promise<void> {
    if (this.broken) throw new Error("it cannot be written");
    this.sizes.push(uses.size);
    for (const [jti, { runs, lastMs }] of uses)
      this.stored.set(jti, { runs: (this.stored.get(jti)?.runs ?? 0) + runs, lastMs });
  }

  use(jti: string): TokenUse | undefined {
    return this.stored.get(jti);
  }
}

function claims(jti: string): Claims {
  return { jti } as Claims;
}

test("the use of a token is known at once, and stored on close", async () => {
  const register = new UseStore();
  let nowMs = 5;
  const uses = new Uses(register, () => nowMs);
  uses.seen(claims("a"));
  uses.ran(claims("b"));
  nowMs = 7;
  uses.ran(claims("b"));
  assert.deepEqual(await uses.of("a"), { runs: 0, lastMs: 5 });
  assert.deepEqual(await uses.of("b"), { runs: 2, lastMs: 7 });
  assert.equal(await uses.of("c"), undefined);
  await uses.close();
  assert.deepEqual([...register.stored.keys()], ["a", "b"]);
  assert.deepEqual(await uses.of("b"), { runs: 2, lastMs: 7 });
});

test("a use that could not be written is written later, and only once", async () => {
  mock.timers.enable({ apis: ["setInterval"] });
  try {
    const register = new UseStore();
    const uses = new Uses(register, () => 1);
    uses.ran(claims("a"));
    register.broken = true;
    mock.timers.tick(1_000);
    uses.ran(claims("a"));
    await Promise.resolve();
    assert.deepEqual(await uses.of("a"), { runs: 2, lastMs: 1 });
    register.broken = false;
    await uses.close();
    assert.deepEqual(register.stored.get("a"), { runs: 2, lastMs: 1 });
  } finally {
    mock.timers.reset();
  }
});

test("the uses of many tokens are written in batches", async () => {
  mock.timers.enable({ apis: ["setInterval"] });
  try {
    const register = new UseStore();
    const uses = new Uses(register, () => 1);
    for (let at = 0; at < 1_200; at++) uses.ran(claims(`t${at}`));
    for (let tick = 0; tick < 4; tick++) {
      mock.timers.tick(1_000);
      await Promise.resolve();
    }
    assert.deepEqual(register.sizes, [500, 500, 200]);
    await uses.close();
  } finally {
    mock.timers.reset();
  }
});
