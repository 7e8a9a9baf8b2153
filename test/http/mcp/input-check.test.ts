import assert from "node:assert/strict";
import { it } from "node:test";

import { InputChecks } from "../../../src/http/mcp/input-check.ts";

/** A task whose check takes for ever for the input below, and the time in its name for another input. */
function slow(etag: string): { etag: string; input: object } {
  return { etag, input: { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } } };
}
const ENDLESS = { a: `${"a".repeat(60)}!` };

it("slow checks of a token family take at most their share of a minute, and those of others go on", async () => {
  const checks = new InputChecks({ quickMs: 20, checkMs: 60, slowMsAMinute: 100 });
  for (const etag of ["1", "2"]) {
    await assert.rejects(checks.check(slow(etag) as never, ENDLESS, "family"), { message: /took longer than 60 ms/ });
  }
  await assert.rejects(checks.check(slow("3") as never, ENDLESS, "family"), (error: { code: string }) => {
    assert.equal(error.code, "token_limited");
    return true;
  });
  await assert.rejects(checks.check(slow("1") as never, {}, "other"), { message: /took longer/ });
  await checks.check(slow("4") as never, { a: "a" }, "other");
});
