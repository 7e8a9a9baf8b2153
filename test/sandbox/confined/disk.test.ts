import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, open, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { DiskWatch, type WatchedGuest } from "../../../src/sandbox/confined/disk-watch.ts";
import { diskUse } from "../../../src/sandbox/confined/disk.ts";
import type { TimedUse } from "../../../src/sandbox/confined/looker.ts";
import { hasRemovedMapping } from "../../../src/sandbox/confined/mappings.ts";
import { removedUse } from "../../../src/sandbox/confined/removed.ts";
import { isPrivileged } from "../../../src/sandbox/privilege.ts";
import { removeTree } from "../../../src/sandbox/temp/remove-tree.ts";
import { prepareRunFolder } from "../../../src/sandbox/temp/run-folder.ts";
import { until } from "../../contract/until.ts";

const MIB = 2 ** 20;
const NOTHING: TimedUse = { bytes: 0, isCertain: true, costMs: 0 };
/** Its index is a file that SQLite maps. The second word that it is sent has it removed, while it goes on being mapped. */
const MAP_FILE = `const fs = require("node:fs"); const { DatabaseSync } = require("node:sqlite");
  const held = new DatabaseSync("held"); held.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x); SELECT * FROM t");`;
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

describe("the use of a folder", () => {
  it("is that of all files in it, however deep", async () => {
    await mkdir(path.join(folder, "some/more"), { recursive: true });
    await writeFile(path.join(folder, "some/more/file"), Buffer.alloc(2 * MIB, 1));
    await writeFile(path.join(folder, "file"), Buffer.alloc(MIB, 1));
    const { bytes: used } = diskUse(folder, 64 * MIB);
    assert.ok(used >= 3 * MIB && used < 4 * MIB, String(used));
  });

  it("counts files that are empty, of which there could be any number", async () => {
    for (let n = 0; n < 100; n++) await writeFile(path.join(folder, String(n)), "");
    assert.equal(diskUse(folder, 64 * MIB).bytes, 100 * 4_096);
  });

  it("counts what was removed and is still open, once", async () => {
    const file = path.join(folder, "file");
    await using one = await open(file, "w");
    await using other = await open(file, "r");
    await one.write(Buffer.alloc(MIB, 1));
    await unlink(file);
    const { bytes: used } = await removedUse({ pid: process.pid, identity: null, stub: "", folder });
    assert.ok(used >= MIB && used < 2 * MIB, `${used} by ${other.fd}`);
    assert.equal(diskUse(folder, 64 * MIB, used).bytes, used);
  });

  it("is more than any limit when there are too many files, and as many more as the limit is larger", async () => {
    for (let n = 0; n < 2_049; n++) writeFileSync(path.join(folder, String(n)), "");
    assert.equal(diskUse(folder, 64 * MIB).bytes, Infinity);
    assert.equal(diskUse(folder, 128 * MIB).bytes, 2_049 * 4_096);
  });

  it("is more than any limit when folders lie too deep in each other", async () => {
    await mkdir(path.join(folder, "d/".repeat(64)), { recursive: true });
    assert.ok(diskUse(folder, 64 * MIB).bytes < MIB);
    await mkdir(path.join(folder, "d/".repeat(65)), { recursive: true });
    assert.equal(diskUse(folder, 64 * MIB).bytes, Infinity);
  });

  it("is more than any limit where it lies deeper than a path can be long", async () => {
    execFileSync(process.execPath, ["-e", DEEP, folder]);
    assert.equal(diskUse(folder, 64 * MIB).bytes, Infinity);
  });

  it("counts files and folders whose names are no text", async () => {
    const below = Buffer.from(`${folder}/\xff`, "latin1");
    await mkdir(below);
    await writeFile(Buffer.concat([below, Buffer.from("/\xfe", "latin1")]), Buffer.alloc(2 * MIB, 1));
    await writeFile(Buffer.from(`${folder}/\xfe`, "latin1"), Buffer.alloc(MIB, 1));
    const { bytes: used } = diskUse(folder, 64 * MIB);
    assert.ok(used >= 3 * MIB && used < 4 * MIB, String(used));
  });

  it("is certain where nothing has changed lately, and where it is too much in any case", async () => {
    const [file, moved] = ["file", "moved"].map((name) => path.join(folder, name)) as [string, string];
    const isCertain = async (): Promise<boolean> => diskUse(folder, 64 * MIB).isCertain;
    // On a busy machine the look may come when it is no longer lately.
    await until(async () => {
      await writeFile(file, Buffer.alloc(MIB, 1));
      return !(await isCertain());
    }, "a look has come soon after a change");
    assert.equal(diskUse(folder, MIB / 2).isCertain, true);
    await until(isCertain, "nothing has changed lately");
    await until(async () => {
      await rename(file, moved);
      await rename(moved, file);
      return !(await isCertain());
    }, "a look has come soon after a file was moved");
  });

  it("is nothing where the folder has gone", async () => {
    assert.equal(diskUse(path.join(folder, "gone"), MIB).bytes, 0);
  });
});

describe("what a process maps and has removed", () => {
  it("is more than any limit, and a mapped file that has its name is not", async () => {
    const holder = spawn(process.execPath, ["-e", MAP], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
    try {
      const held = { pid: holder.pid!, identity: null, stub: "", folder };
      await once(holder.stdout, "data");
      assert.match(await readFile(`/proc/${holder.pid}/maps`, "latin1"), /held-shm$/m);
      assert.equal((await removedUse(held)).bytes, 0);
      holder.stdin.write("remove");
      await once(holder.stdout, "data");
      assert.equal((await removedUse(held)).bytes, Infinity);
      assert.ok((await removedUse({ ...held, folder: ROOT })).bytes < Infinity);
    } finally {
      holder.kill("SIGKILL");
    }
  });

  it("is found by its path, whatever the file is called", () => {
    const line = "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n";
    assert.equal(hasRemovedMapping(line.repeat(10_000), folder), false);
    const removed = `7f0000000000-7f0000001000 r--s 00000000 08:01 17      ${folder}/a b\\012c (deleted)\n`;
    assert.equal(hasRemovedMapping(line.repeat(100) + removed, folder), true);
    assert.equal(hasRemovedMapping(removed.replace(" (deleted)", ""), folder), false);
  });
});

describe("what a guest of another user holds open and has removed", () => {
  const without = ["--inh-caps", "-sys_ptrace,-perfmon", "--bounding-set", "-sys_ptrace,-perfmon"];
  const HOLD = `const fs = require("node:fs");
    for (const name of ["one", "two"]) { const held = fs.openSync(name, "w"); fs.writeSync(held, Buffer.alloc(1 << 20, 1)); fs.unlinkSync(name); }
    console.log("held"); setInterval(() => {}, 1000)`;

  for (const [what, code, expected] of [
    ["open files", HOLD, String(2 * MIB)],
    ["mapped files", MAP_AND_REMOVE, "Infinity"],
  ] as const)
    it(
      `is seen by a root that may not look at it, as a container's root may not: ${what}`,
      { skip: whyNotAsked() },
      async () => {
        await using run = await disposableRunFolder();
        await chmod(folder, 0o777);
        const identity = { uid: 54_321, gid: 54_321 };
        // Its own Node may lie below a private folder.
        const holder = spawn(run.node, ["-e", code], {
          cwd: folder,
          ...identity,
          stdio: ["ignore", "pipe", "inherit"],
        });
        try {
          await once(holder.stdout, "data");
          const asked = { pid: holder.pid, identity, stub: run.stub, folder };
          const program = `import { removedUse } from "./src/sandbox/confined/removed.ts";
        import { statSync } from "node:fs";
        const held = ${JSON.stringify(asked)};
        try { statSync("/proc/" + held.pid + "/fd/0"); console.log("it may look") } catch (error) { console.log(error.code) }
        console.log((await removedUse(held)).bytes)`;
          const words = [...without, process.execPath, "--input-type=module", "-e", program];
          const { stdout, stderr } = spawnSync("setpriv", words, { cwd: ROOT, encoding: "utf8" });
          assert.equal(stdout, `EACCES\n${expected}\n`, stderr);
        } finally {
          holder.kill("SIGKILL");
        }
      },
    );
});

describe("a watch of folders", () => {
  it("reports once which guest has gone beyond the limit, and no other", async () => {
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

  it("looks at a guest again when it has used four times what the look took, however dear looks at others are", async () => {
    const looks: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const watch = new DiskWatch(MIB, {
      look: async ({ folder: name }) => {
        looks.push(name);
        if (looks.filter((each) => each === "dear").length === 2) resolve();
        return { ...NOTHING, costMs: name === "dear" ? 100 : 0 };
      },
      close: async () => {},
    });
    watch.watch(guest("idle", () => 0));
    // After the first look it has to use 400 ms, which takes it four rounds.
    watch.watch(guest("dear", growing(100)));
    watch.watch(guest("cheap", growing(10)));
    await alive(promise);
    await watch.close();
    assert.ok(!looks.includes("idle"));
    assert.ok(looks.filter((each) => each === "cheap").length >= 4, looks.join());
  });

  it("looks at a guest that has come to rest once more, and then no more", async () => {
    let [looks, rounds] = [0, 0];
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = async (): Promise<TimedUse> => {
      looks++;
      return NOTHING;
    };
    const watch = new DiskWatch(MIB, { look, close: async () => {} });
    const usedMs = (): number => {
      if (++rounds === 30) resolve();
      // Ten milliseconds make it due, and five more do not.
      return rounds === 1 ? 10 : 15;
    };
    watch.watch(guest(folder, usedMs));
    await alive(promise);
    await watch.close();
    assert.equal(looks, 2);
  });

  it("stops a guest for a second look where the first is not certain, and believes only that one", async () => {
    const first = [Infinity, 0, 0];
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = async (): Promise<TimedUse> => {
      const bytes = first.shift() ?? 0;
      if (first.length === 0) resolve();
      return { bytes, isCertain: bytes === 0, costMs: 0 };
    };
    const watch = new DiskWatch(MIB, { look, close: async () => {} });
    watch.watch(guest(folder, growing(10)));
    await alive(promise);
    await watch.close();
  });
});

async function disposableRunFolder(): Promise<AsyncDisposable & { stub: string; node: string }> {
  const run = await prepareRunFolder();
  return { stub: run.stub, node: run.node, [Symbol.asyncDispose]: () => run.remove() };
}

function whyNotAsked(): string | false {
  if (!isPrivileged()) return "only root can have guests of another user";
  return spawnSync("setpriv", ["--version"]).status === 0 ? false : "there is no setpriv (util-linux)";
}

function guest(tmp: string, usedMs: () => number, exceeded: () => void = assert.fail): WatchedGuest {
  return { held: { pid: 0x7fff_ffff, identity: null, stub: "", folder: tmp }, usedMs, whileStopped, exceeded };
}

/** Some more processor time whenever it is asked for. */
function growing(stepMs: number): () => number {
  let usedMs = 0;
  return () => (usedMs += stepMs);
}
/** The timer of a watch keeps no process alive. */
async function alive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, 1_000);
  return work.finally(() => clearInterval(timer));
}
