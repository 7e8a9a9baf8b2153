import assert from "node:assert/strict";
import { it } from "node:test";

import { sandboxOf } from "../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import { SANDBOX_OPTIONS } from "../suites/sandbox.ts";

it("a service that starts its guests itself has no more at once than it was told", async (t) => {
  const wall = await openLocalSandbox({ ...SANDBOX_OPTIONS, isolation: "none" });
  const sandbox = sandboxOf(wall, { mostGuests: 2 });
  t.after(() => sandbox.close());
  const [one] = await Promise.all([sandbox.launch(), sandbox.launch()]);
  await assert.rejects(sandbox.launch(), /2 guests are alive, and no service has more/);
  one.kill();
  await one.exited;
  assert.ok(await sandbox.launch());
});
