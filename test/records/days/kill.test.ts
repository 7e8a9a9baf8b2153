import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { isLong } from "../../long.ts";
import { seeded } from "../../seeded.ts";
import { newFolder, reopenStore } from "./kept-runs.ts";

const ADDER = path.join(import.meta.dirname, "run-adder.ts");
const ROUNDS = isLong ? 60 : 3;
const LONGEST_MS = 1_500;

interface Killed {
  /** The runs in the order in which they were added, with the times. */
  readonly added: { readonly ms: number; readonly run: string }[];
  /** Runs that could be read before the end. */
  readonly read: string[];
}

/** Lets another process add runs, and kills it that long after the first run could be read. */
async function killAfter(folder: string, prefix: string, ms: number): Promise<Killed> {
  const child = spawn(process.execPath, [ADDER, folder, prefix], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  while (!text.includes("read ")) await once(child.stdout, "data");
  await pause(ms);
  child.kill("SIGKILL");
  await closed;
  const lines = text
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split(" "));
  return {
    added: lines.flatMap(([what, at, run]) => (what === "added" ? [{ ms: Number(at), run: run! }] : [])),
    read: lines.flatMap(([what, , run]) => (what === "read" ? [run!] : [])),
  };
}

it("loses only the latest records when the process is killed at any moment, and leaves every file readable", async (t) => {
  const random = seeded();
  const folder = await newFolder();
  t.diagnostic(`seed ${random.seed}`);
  for (let round = 0; round < ROUNDS; round++) {
    const prefix = round.toString(16).padStart(12, "0");
    const { added, read } = await killAfter(folder, prefix, random.below(LONGEST_MS));
    const opened = reopenStore(folder);
    const isStored = async (run: string): Promise<boolean> => (await opened.store.get("acme", run, "test")) !== null;
    for (const run of read) assert.ok(await isStored(run), `${run} could be read before the end`);
    for (const isOld of [true, false]) {
      // Each day has its own file, and its runs are written in the order in which they were added.
      const ofDay = added.filter((_, at) => (at % 4 === 0) === isOld);
      const first = await firstLost(
        ofDay.map(({ run }) => run),
        isStored,
      );
      const lostMs = first === ofDay.length ? 0 : added.at(-1)!.ms - ofDay[first]!.ms;
      t.diagnostic(`round ${round}: ${ofDay.length - first} of ${ofDay.length} runs lost, of the last ${lostMs} ms`);
      for (const { run } of ofDay.slice(first, first + 50))
        assert.equal(await isStored(run), false, `${run} after a loss`);
    }
    await opened.store.close();
    assert.deepEqual(opened.store.losses.unreadable, []);
    for (const name of readdirSync(folder).filter((each) => each.endsWith(".sqlite"))) {
      const database = new DatabaseSync(path.join(folder, name));
      assert.deepEqual({ ...database.prepare("PRAGMA integrity_check").get() }, { integrity_check: "ok" }, name);
      database.close();
    }
  }
});

/** Returns the index of the first run that is not stored, if all before it are. */
async function firstLost(runs: readonly string[], isStored: (run: string) => Promise<boolean>): Promise<number> {
  let [low, high] = [0, runs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (await isStored(runs[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}
