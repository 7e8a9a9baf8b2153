import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";

import { readAll, runsIn, usageFolder } from "./folder.ts";

const PROGRAM = path.join(import.meta.dirname, "count-runs.ts");
const LONG = process.env["LONG"] === "1";

function start(folder: string, count: number, ending: string): ChildProcess {
  return spawn(process.execPath, [PROGRAM, folder, String(count), ending], { stdio: ["pipe", "pipe", "inherit"] });
}

/** Kills a process when it reports at least so many runs. @returns the runs that it has reported. */
async function killAt(child: ChildProcess, least: number): Promise<{ admitted: number; flushed: number }> {
  let last = { admitted: 0, flushed: 0 };
  const exited = once(child, "exit");
  for await (const line of createInterface(child.stdout!)) {
    const [admitted, flushed] = line.split(" ").map(Number) as [number, number];
    last = { admitted, flushed };
    if (admitted >= least) child.kill("SIGKILL");
  }
  await exited;
  return last;
}

describe("the sum of the counted runs", () => {
  it("equals 100 000 admitted runs after restarts, and runs that were in flight are interrupted", async () => {
    await using folder = await usageFolder();
    const restarts = 5;
    for (let at = 0; at < restarts; at++) {
      const child = start(folder.path, 20_000, "close");
      child.stdout!.resume();
      assert.deepEqual(await once(child, "exit"), [0, null]);
    }
    await using usage = folder.open();
    for (const by of ["container", "token", "task"] as const) {
      const rows = await readAll(usage, { by });
      assert.equal(runsIn(rows), 100_000);
      assert.equal(runsIn(rows, "running"), 0);
      assert.equal(runsIn(rows, "interrupted"), restarts * 50);
    }
  });

  it("loses no run that was flushed before kill -9, and never counts a run twice", async () => {
    await using folder = await usageFolder();
    let earlier = 0;
    for (let at = 0; at < (LONG ? 50 : 3); at++) {
      // Some processes are killed between flushes, the others after they have flushed all.
      const killedAt = at % 3 === 2 ? 20_000 : 3_500 + 1_500 * at;
      const child = start(folder.path, 20_000, "wait");
      const { flushed } = await killAt(child, Math.min(killedAt, 20_000));
      await using usage = folder.open();
      const rows = await readAll(usage);
      const counted = runsIn(rows);
      const [least, most] = [earlier + flushed, earlier + 20_000];
      assert.ok(flushed > 0 && counted >= least && counted <= most, `${counted} counted, ${least} flushed`);
      assert.equal(runsIn(rows, "running"), 0);
      earlier = counted;
    }
  });
});
