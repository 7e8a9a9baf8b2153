import assert from "node:assert/strict";
import { it } from "node:test";

import { Problem } from "../../src/errors.ts";
import { waitForBuild } from "../../src/packages/wait-for-build.ts";

it("a build that takes longer than its caller waits is answered with what to do", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  // The timer of the wait does not keep a process alive.
  const alive = setInterval(() => {}, 1_000);
  const error: unknown = await waitForBuild(promise, { waitMs: 1 }).catch((caught: unknown) => caught);
  clearInterval(alive);
  resolve(1);
  assert.ok(error instanceof Problem);
  assert.equal(error.code, "packages_building");
  assert.equal(
    error.options.hint,
    "Send the request again after the time in Retry-After. The build goes on. caisson packages warm builds packages before the first run.",
  );
});
