import assert from "node:assert/strict";
import { it } from "node:test";

import { InputChecks } from "../../../src/http/mcp/input-check.ts";

/** A task whose check takes for ever for the input below, and the time in its name for another input. */
function slow(etag: string): { etag: string; input: object } {
  return { etag, input: { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } } };
}
const ENDLESS = { a: `${"a".repeat(60)}!` };

it("slow checks of a token family take at most their share of a minute, and those of others go on, of the same task too", async () => {
  const checks = new InputChecks({ quickMs: 20, checkMs: 60, msAMinute: 100 });
  for (const etag of ["1", "2"]) {
    await assert.rejects(checks.check(slow(etag) as never, ENDLESS, "family"), { message: /took longer than 60 ms/ });
  }
  await assert.rejects(checks.check(slow("3") as never, ENDLESS, "family"), (error: { code: string }) => {
    assert.equal(error.code, "token_limited");
    return true;
  });
  await checks.check(slow("1") as never, { a: "a" }, "other");
  await checks.check(slow("4") as never, { a: "a" }, "other");
});

it("quick checks without a run take at most their share of a minute too, and those whose run is counted take nothing", async () => {
  const checks = new InputChecks({ quickMs: 60_000, checkMs: 60_000, msAMinute: 1 });
  const task = slow("1") as never;
  // Takes tens of milliseconds, which is more than the share.
  const wrong = { a: `${"a".repeat(23)}!` };
  for (let at = 0; at < 100; at++) (await checks.check(task, { a: "a".repeat(1_000) }, "family"))();
  await assert.rejects(checks.check(task, wrong, "family"), { code: "request_invalid" });
  await assert.rejects(checks.check(task, { a: "a" }, "family"), (error: { code: string; options: object }) => {
    const { retryAfterMs } = error.options as { readonly retryAfterMs: number };
    assert.deepEqual([error.code, retryAfterMs > 0 && retryAfterMs <= 60_000], ["token_limited", true]);
    return true;
  });
  const others = ["other", "other"].map((holder) => checks.check(task, wrong, holder));
  const codes = (await Promise.allSettled(others)).map((end) => (end as PromiseRejectedResult).reason.code as string);
  assert.deepEqual(codes, ["request_invalid", "token_limited"], "also of checks that wait at the same time");
});

it("short checks take time of the minute too", async () => {
  const checks = new InputChecks({ quickMs: 60_000, checkMs: 60_000, msAMinute: 10 });
  const task = { etag: "1", input: { type: "object", required: ["b"] } } as never;
  const codes: string[] = [];
  while (codes.at(-1) !== "token_limited") {
    assert.ok(codes.length < 20_000, "a check takes at least a microsecond");
    const end = await checks.check(task, {}, "family").catch((error: { code: string }) => error.code);
    codes.push(end as string);
  }
});
