import assert from "node:assert/strict";
import { mkdir, mkdtempDisposable, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it } from "node:test";

import { KeptClock } from "../../src/records/kept-clock.ts";

const DAY_MS = 86_400_000;

it("time starts at the newest file of the history, and is never ahead of the wall clock", async () => {
  await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-kept-"));
  const wallMs = Date.now();
  assert.equal(KeptClock.of(folder.path, wallMs).now(wallMs), wallMs);
  await mkdir(path.join(folder.path, "runs"));
  for (const [name, ageDays] of [
    ["audit.sqlite", 9],
    ["runs/usage.sqlite", 4],
    ["runs/2026-11-20.sqlite", 6],
  ] as const) {
    const file = path.join(folder.path, name);
    await writeFile(file, "");
    await utimes(file, wallMs / 1_000 - ageDays * 86_400, wallMs / 1_000 - ageDays * 86_400);
  }
  const clock = KeptClock.of(folder.path, wallMs);
  const beginning = clock.now(wallMs);
  assert.ok(Math.abs(beginning - (wallMs - 4 * DAY_MS)) < 60_000, String(beginning));
  // A step of the wall clock changes nothing, and a step back is followed.
  assert.ok(clock.now(wallMs + 400 * DAY_MS) - beginning < 60_000);
  assert.equal(clock.now(wallMs - 30 * DAY_MS), wallMs - 30 * DAY_MS);
});
