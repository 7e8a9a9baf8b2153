import assert from "node:assert/strict";
import { it } from "node:test";

import { sandboxOf } from "../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import { SANDBOX_OPTIONS } from "../suites/sandbox.ts";

it("a sandbox without a launcher starts no more guests than the maximum at the same time", async (t) => {
  const local = await openLocalSandbox({ ...SANDBOX_OPTIONS, isolation: "none" });
  const sandbox = sandboxOf(local, { mostGuests: 2 });
  t.after(() => sandbox.close());
  const [one] = await Promise.all([sandbox.launch(), sandbox.launch()]);
  await assert.rejects(sandbox.launch(), /2 guests are running, which is the maximum/);
  one.kill();
  await one.exited;
  assert.ok(await sandbox.launch());
});
