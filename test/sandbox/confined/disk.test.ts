import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, open, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { DiskChecker, type TimedUse } from "../../../src/sandbox/confined/disk-checker.ts";
import { DiskWatch, type WatchedGuest } from "../../../src/sandbox/confined/disk-watch.ts";
import { diskUse } from "../../../src/sandbox/confined/disk.ts";
import { hasRemovedMapping } from "../../../src/sandbox/confined/mappings.ts";
import { removedUse } from "../../../src/sandbox/confined/removed.ts";
import { isPrivileged } from "../../../src/sandbox/privilege.ts";
import { removeTree } from "../../../src/sandbox/temp/remove-tree.ts";
import { prepareRunFolder } from "../../../src/sandbox/temp/run-folder.ts";
import { until } from "../../contract/until.ts";

const MIB = 2 ** 20;
const NOTHING: TimedUse = { bytes: 0, isCertain: true, costMs: 0 };
/** Opens a database whose index is a file that SQLite maps. */
const MAP_FILE = `const fs = require("node:fs"); const { DatabaseSync } = require("node:sqlite");
  const held = new DatabaseSync("held"); held.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x); SELECT * FROM t");`;
/** Removes the index, which stays mapped, when it receives input. */
const MAP = `${MAP_FILE} console.log("mapped");
  process.stdin.once("data", () => { fs.unlinkSync("held-shm"); console.log("removed") })`;
const MAP_AND_REMOVE = `${MAP_FILE} fs.unlinkSync("held-shm"); console.log("held"); setInterval(() => {}, 1000)`;
const DEEP = `process.chdir(process.argv[1]);
for (let n = 0; n < 40; n++) { const name = "d".repeat(250); require("node:fs").mkdirSync(name); process.chdir(name); }`;

const whileStopped = <T>(work: () => Promise<T>): Promise<T> => work();
const ROOT = path.join(import.meta.dirname, "../../..");

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "caisson-disk-"));
});
afterEach(() => removeTree(folder));

describe("a check in the thread", () => {
  it("has the processor time that it has taken, also if that is less than a tick of the kernel", async () => {
    const checker = new DiskChecker();
    try {
      for (let count = 0; count < 10; count++) {
        const { costMs } = await checker.check({ pid: process.pid, identity: null, stub: "", folder }, MIB);
        assert.ok(costMs > 0, `check ${count} costs ${costMs} ms`);
      }
    } finally {
      await checker.close();
    }
  });
});

describe("diskUse", () => {
  it("counts all files of a folder at any depth", async () => {
    await mkdir(path.join(folder, "some/more"), { recursive: true });
    await writeFile(path.join(folder, "some/more/file"), Buffer.alloc(2 * MIB, 1));
    await writeFile(path.join(folder, "file"), Buffer.alloc(MIB, 1));
    const { bytes: used } = diskUse(folder, 64 * MIB);
    assert.ok(used >= 3 * MIB && used < 4 * MIB, String(used));
  });

  it("counts empty files, because a guest could create any number of them", async () => {
    for (let n = 0; n < 100; n++) await writeFile(path.join(folder, String(n)), "");
    assert.equal(diskUse(folder, 64 * MIB).bytes, 100 * 4_096);
  });

  it("counts a removed file that is open twice once", async () => {
    const file = path.join(folder, "file");
    await using one = await open(file, "w");
    await using other = await open(file, "r");
    await one.write(Buffer.alloc(MIB, 1));
    await unlink(file);
    const { bytes: used } = await removedUse({ pid: process.pid, identity: null, stub: "", folder });
    assert.ok(used >= MIB && used < 2 * MIB, `${used} by ${other.fd}`);
    assert.equal(diskUse(folder, 64 * MIB, used).bytes, used);
  });

  it("is infinite for too many files, and a larger disk limit allows more files", async () => {
    for (let n = 0; n < 2_049; n++) writeFileSync(path.join(folder, String(n)), "");
    assert.equal(diskUse(folder, 64 * MIB).bytes, Infinity);
    assert.equal(diskUse(folder, 128 * MIB).bytes, 2_049 * 4_096);
  });

  it("is infinite for folders that are nested too deep", async () => {
    await mkdir(path.join(folder, "d/".repeat(64)), { recursive: true });
    assert.ok(diskUse(folder, 64 * MIB).bytes < MIB);
    await mkdir(path.join(folder, "d/".repeat(65)), { recursive: true });
    assert.equal(diskUse(folder, 64 * MIB).bytes, Infinity);
  });

  it("is infinite for folders that are deeper than the maximum length of a path", async () => {
    execFileSync(process.execPath, ["-e", DEEP, folder]);
    assert.equal(diskUse(folder, 64 * MIB).bytes, Infinity);
  });

  it("counts files and folders whose names are invalid UTF-8", async () => {
    const below = Buffer.from(`${folder}/\xff`, "latin1");
    await mkdir(below);
    await writeFile(Buffer.concat([below, Buffer.from("/\xfe", "latin1")]), Buffer.alloc(2 * MIB, 1));
    await writeFile(Buffer.from(`${folder}/\xfe`, "latin1"), Buffer.alloc(MIB, 1));
    const { bytes: used } = diskUse(folder, 64 * MIB);
    assert.ok(used >= 3 * MIB && used < 4 * MIB, String(used));
  });

  it("is certain if no file has changed recently, or if it exceeds the limit", async () => {
    const [file, moved] = ["file", "moved"].map((name) => path.join(folder, name)) as [string, string];
    const isCertain = async (): Promise<boolean> => diskUse(folder, 64 * MIB).isCertain;
    // On a busy machine the check may come too late after the change.
    await until(async () => {
      await writeFile(file, Buffer.alloc(MIB, 1));
      return !(await isCertain());
    }, "a check soon after a change is not certain");
    assert.equal(diskUse(folder, MIB / 2).isCertain, true);
    await until(isCertain, "a check without a recent change is certain");
    await until(async () => {
      await rename(file, moved);
      await rename(moved, file);
      return !(await isCertain());
    }, "a check soon after a move is not certain");
  });

  it("is 0 for a folder that does not exist", async () => {
    assert.equal(diskUse(path.join(folder, "gone"), MIB).bytes, 0);
  });
});

describe("a mapped file of a process", () => {
  it("counts as infinite after it is removed, and as 0 before", async () => {
    const holder = spawn(process.execPath, ["-e", MAP], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
    try {
      const disk = { pid: holder.pid!, identity: null, stub: "", folder };
      await once(holder.stdout, "data");
      assert.match(await readFile(`/proc/${holder.pid}/maps`, "latin1"), /held-shm$/m);
      assert.equal((await removedUse(disk)).bytes, 0);
      holder.stdin.write("remove");
      await once(holder.stdout, "data");
      assert.equal((await removedUse(disk)).bytes, Infinity);
      assert.ok((await removedUse({ ...disk, folder: ROOT })).bytes < Infinity);
    } finally {
      holder.kill("SIGKILL");
    }
  });

  it("is found by the path of its folder, with any file name", () => {
    const line = "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n";
    assert.equal(hasRemovedMapping(line.repeat(10_000), folder), false);
    const removed = `7f0000000000-7f0000001000 r--s 00000000 08:01 17      ${folder}/a b\\012c (deleted)\n`;
    assert.equal(hasRemovedMapping(line.repeat(100) + removed, folder), true);
    assert.equal(hasRemovedMapping(removed.replace(" (deleted)", ""), folder), false);
  });
});

describe("a removed file that a guest of another user has open or mapped", () => {
  const without = ["--inh-caps", "-sys_ptrace,-perfmon", "--bounding-set", "-sys_ptrace,-perfmon"];
  const HOLD = `const fs = require("node:fs");
    for (const name of ["one", "two"]) { const held = fs.openSync(name, "w"); fs.writeSync(held, Buffer.alloc(1 << 20, 1)); fs.unlinkSync(name); }
    console.log("held"); setInterval(() => {}, 1000)`;

  for (const [what, code, expected] of [
    ["open files", HOLD, String(2 * MIB)],
    ["mapped files", MAP_AND_REMOVE, "Infinity"],
  ] as const)
    it(
      `is counted by a root without CAP_SYS_PTRACE, like a container's root: ${what}`,
      { skip: whySkipped() },
      async () => {
        await using run = await disposableRunFolder();
        await chmod(folder, 0o777);
        const identity = { uid: 54_321, gid: 54_321 };
        // The Node of the run folder, because this process's Node may be below a private folder.
        const holder = spawn(run.node, ["-e", code], {
          cwd: folder,
          ...identity,
          stdio: ["ignore", "pipe", "inherit"],
        });
        try {
          await once(holder.stdout, "data");
          const disk = { pid: holder.pid, identity, stub: run.stub, folder };
          const program = `import { removedUse } from "./src/sandbox/confined/removed.ts";
        import { statSync } from "node:fs";
        const disk = ${JSON.stringify(disk)};
        try { statSync("/proc/" + disk.pid + "/fd/0"); console.log("it may read them") } catch (error) { console.log(error.code) }
        console.log((await removedUse(disk)).bytes)`;
          const args = [...without, process.execPath, "--input-type=module", "-e", program];
          const { stdout, stderr } = spawnSync("setpriv", args, { cwd: ROOT, encoding: "utf8" });
          assert.equal(stdout, `EACCES\n${expected}\n`, stderr);
        } finally {
          holder.kill("SIGKILL");
        }
      },
    );
});

describe("DiskWatch", () => {
  it("reports a guest that exceeds the limit once, and no other guest", async () => {
    const [greedy, modest] = [path.join(folder, "greedy"), path.join(folder, "modest")];
    await Promise.all([mkdir(greedy), mkdir(modest)]);
    const watch = new DiskWatch(MIB);
    const reported: string[] = [];
    const exceeded = Promise.withResolvers<void>();
    watch.watch(guest(modest, growing(10), () => reported.push("modest")));
    watch.watch(guest(greedy, growing(10), () => exceeded.resolve(void reported.push("greedy"))));
    await writeFile(path.join(modest, "file"), Buffer.alloc(MIB / 2, 1));
    await writeFile(path.join(greedy, "file"), Buffer.alloc(2 * MIB, 1));
    await alive(exceeded.promise);
    await watch.close();
    assert.deepEqual(reported, ["greedy"]);
  });

  it("checks a guest again when it has used four times the cost of its check, whatever checks of others cost", async () => {
    const checks: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const watch = new DiskWatch(MIB, {
      check: async ({ folder: name }) => {
        checks.push(name);
        if (checks.filter((each) => each === "expensive").length === 2) resolve();
        return { ...NOTHING, costMs: name === "expensive" ? 100 : 0 };
      },
      close: async () => {},
    });
    watch.watch(guest("idle", () => 0));
    // The second check is due after 400 ms of use, which is after four rounds.
    watch.watch(guest("expensive", growing(100)));
    watch.watch(guest("cheap", growing(10)));
    await alive(promise);
    await watch.close();
    assert.ok(!checks.includes("idle"));
    assert.ok(checks.filter((each) => each === "cheap").length >= 4, checks.join());
  });

  it("checks a guest that has become idle once more, and then never again", async () => {
    let [checks, rounds] = [0, 0];
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = async (): Promise<TimedUse> => {
      checks++;
      return NOTHING;
    };
    const watch = new DiskWatch(MIB, { check, close: async () => {} });
    const usedMs = (): number => {
      if (++rounds === 30) resolve();
      // 10 ms make a check due, but 5 ms more do not.
      return rounds === 1 ? 10 : 15;
    };
    watch.watch(guest(folder, usedMs));
    await alive(promise);
    await watch.close();
    assert.equal(checks, 2);
  });

  it("repeats an uncertain check while the guest is stopped, and uses only the second result", async () => {
    const results = [Infinity, 0, 0];
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = async (): Promise<TimedUse> => {
      const bytes = results.shift() ?? 0;
      if (results.length === 0) resolve();
      return { bytes, isCertain: bytes === 0, costMs: 0 };
    };
    const watch = new DiskWatch(MIB, { check, close: async () => {} });
    watch.watch(guest(folder, growing(10)));
    await alive(promise);
    await watch.close();
  });
});

async function disposableRunFolder(): Promise<AsyncDisposable & { stub: string; node: string }> {
  const run = await prepareRunFolder();
  return { stub: run.stub, node: run.node, [Symbol.asyncDispose]: () => run.remove() };
}

function whySkipped(): string | false {
  if (!isPrivileged()) return "only root can have guests of another user";
  return spawnSync("setpriv", ["--version"]).status === 0 ? false : "there is no setpriv (util-linux)";
}

function guest(tmp: string, usedMs: () => number, onExceeded: () => void = assert.fail): WatchedGuest {
  return { disk: { pid: 0x7fff_ffff, identity: null, stub: "", folder: tmp }, usedMs, whileStopped, onExceeded };
}

/** Returns a function that returns more processor time at each call. */
function growing(stepMs: number): () => number {
  let usedMs = 0;
  return () => (usedMs += stepMs);
}

/** Keeps the process alive while it waits, because the timer of a watch does not. */
async function alive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, 1_000);
  return work.finally(() => clearInterval(timer));
}
