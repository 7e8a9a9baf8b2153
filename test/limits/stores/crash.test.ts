import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";

import { charge } from "../../suites/limit-store.ts";
import { readOne } from "../read-one.ts";
import { inFolder, withStore } from "./folder.ts";

const SPENDER = join(import.meta.dirname, "spender.ts");
const KILLS = 6;

interface Line {
  answered: number;
  inMemory: number;
  outcome: string;
}

/** Starts a spender and passes its lines to `onLine` until that returns `false`. Then kills the spender. */
async function spend(
  folder: string,
  { command = process.execPath, before = [], fsync = "" }: { command?: string; before?: string[]; fsync?: string },
  onLine: (line: Line, spender: ChildProcess) => boolean,
): Promise<void> {
  const spender = spawn(command, [...before, SPENDER, folder, fsync, "30000"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(spender, "exit");
  try {
    for await (const text of createInterface({ input: spender.stdout })) {
      const [answered, inMemory, outcome] = text.split(" ");
      if (!onLine({ answered: Number(answered), inMemory: Number(inMemory), outcome: outcome! }, spender)) break;
    }
  } finally {
    spender.kill("SIGKILL");
    await ended;
  }
}

async function usedIn(folder: string): Promise<number> {
  let used = 0;
  await withStore(folder, {}, async (store) => {
    used = 1e9 - (await readOne(store, charge("all", { month: 1e9 }))).remaining.at(-1)!;
  });
  return used;
}

describe("the embedded store under kill -9", () => {
  for (const fsync of ["", "fsync"]) {
    it(`has counted every answered run, however often it is killed ${fsync && "with fsync"}`, async () => {
      await inFolder(async (folder) => {
        let counted = 0;
        for (let kill = 0; kill < KILLS; kill++) {
          let lines = 1 + Math.floor(Math.random() * 300);
          let answered = 0;
          await spend(folder, { fsync }, (line) => {
            assert.equal(line.outcome, "ok");
            answered = line.answered;
            return --lines > 0;
          });
          const used = await usedIn(folder);
          assert.ok(used >= counted + answered, `${used} counted, ${counted} + ${answered} answered`);
          counted = used;
        }
      });
    });
  }
});

describe("the embedded store on a full disk", () => {
  it("refuses runs without counting them, and admits runs again when there is room", async () => {
    await inFolder(async (folder) => {
      let refusedLines = 0;
      let answeredAfter = 0;
      let last = 0;
      // The kernel truncates a write beyond 64 KiB and refuses the next one, like a full disk.
      const shell = ["-c", 'ulimit -S -f 128 && exec "$0" "$@"', process.execPath];
      await spend(folder, { command: "sh", before: shell }, (line, spender) => {
        assert.equal(line.inMemory, line.answered, "every answered run is counted, and no refused run");
        last = line.answered;
        if (line.outcome === "ok") return refusedLines < 20 || ++answeredAfter < 20;
        assert.equal(line.outcome, "store_unavailable");
        if (++refusedLines === 20) execFileSync("prlimit", [`--pid=${spender.pid}`, "--fsize=unlimited:"]);
        return true;
      });
      assert.ok(refusedLines >= 20 && answeredAfter >= 20);
      assert.ok((await usedIn(folder)) >= last);
    });
  });
});
