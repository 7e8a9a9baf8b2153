import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { SharedValues } from "../../../src/tokens/secrets/shared-values.ts";
import { until } from "../../contract/until.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function fill(shared: SharedValues<object>, count: number): void {
  for (let at = 0; at < count; at++) shared.share(`key ${at}`, { at });
}

test("a value is shared while it is in use, and forgotten after it", async () => {
  const shared = new SharedValues<object>();
  const kept = shared.share("kept", { value: 1 });
  fill(shared, 100);
  assert.equal(shared.share("kept", { value: 1 }), kept);
  await until(async () => {
    await turn();
    collectGarbage();
    return shared.size === 1;
  }, "the values without a holder are forgotten");
  assert.equal(shared.share("kept", { value: 1 }), kept);
});
