import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, open, rename, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { DiskWatch } from "../../../src/sandbox/confined/disk-watch.ts";
import { diskUse } from "../../../src/sandbox/confined/disk.ts";
import { RemovedFiles } from "../../../src/sandbox/confined/removed.ts";
import { isPrivileged } from "../../../src/sandbox/privilege.ts";
import { removeTree } from "../../../src/sandbox/remove-tree.ts";
import { prepareRunFolder } from "../../../src/sandbox/run-folder.ts";
import { until } from "../../contract/until.ts";

const MIB = 2 ** 20;
/** Of a process that is no more. */
const NONE = new RemovedFiles(0x7fff_ffff, null, "");
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
    const { bytes: used } = await diskUse(folder, 64 * MIB);
    assert.ok(used >= 3 * MIB && used < 4 * MIB, String(used));
  });

  it("counts files that are empty, of which there could be any number", async () => {
    for (let n = 0; n < 100; n++) await writeFile(path.join(folder, String(n)), "");
    assert.equal((await diskUse(folder, 64 * MIB)).bytes, 100 * 4_096);
  });

  it("counts what was removed and is still open, once", async () => {
    const file = path.join(folder, "file");
    await using one = await open(file, "w");
    await using other = await open(file, "r");
    await one.write(Buffer.alloc(MIB, 1));
    await unlink(file);
    const used = await new RemovedFiles(process.pid, null, "").use();
    assert.ok(used >= MIB && used < 2 * MIB, `${used} by ${other.fd}`);
    assert.equal((await diskUse(folder, 64 * MIB, used)).bytes, used);
  });

  it("is more than any limit where it lies deeper than a path can be long", async () => {
    execFileSync(process.execPath, ["-e", DEEP, folder]);
    assert.equal((await diskUse(folder, 64 * MIB)).bytes, Infinity);
  });

  it("counts files and folders whose names are no text", async () => {
    const below = Buffer.from(`${folder}/\xff`, "latin1");
    await mkdir(below);
    await writeFile(Buffer.concat([below, Buffer.from("/\xfe", "latin1")]), Buffer.alloc(2 * MIB, 1));
    await writeFile(Buffer.from(`${folder}/\xfe`, "latin1"), Buffer.alloc(MIB, 1));
    const { bytes: used } = await diskUse(folder, 64 * MIB);
    assert.ok(used >= 3 * MIB && used < 4 * MIB, String(used));
  });

  it("is certain where nothing has changed lately, and where it is too much in any case", async () => {
    const [file, moved] = ["file", "moved"].map((name) => path.join(folder, name)) as [string, string];
    const isCertain = async (): Promise<boolean> => (await diskUse(folder, 64 * MIB)).isCertain;
    // On a busy machine the look may come when it is no longer lately.
    await until(async () => {
      await writeFile(file, Buffer.alloc(MIB, 1));
      return !(await isCertain());
    }, "a look has come soon after a change");
    assert.equal((await diskUse(folder, MIB / 2)).isCertain, true);
    await until(isCertain, "nothing has changed lately");
    await until(async () => {
      await rename(file, moved);
      await rename(moved, file);
      return !(await isCertain());
    }, "a look has come soon after a file was moved");
  });

  it("is nothing where the folder has gone", async () => {
    assert.equal((await diskUse(path.join(folder, "gone"), MIB)).bytes, 0);
  });
});

describe("what a guest of another user holds open and has removed", () => {
  const without = ["--inh-caps", "-sys_ptrace", "--bounding-set", "-sys_ptrace"];
  const HOLD = `const fs = require("node:fs");
    for (const name of ["one", "two"]) { const held = fs.openSync(name, "w"); fs.writeSync(held, Buffer.alloc(1 << 20, 1)); fs.unlinkSync(name); }
    console.log("held"); setInterval(() => {}, 1000)`;

  it("is seen by a root that may not look at it, as one of a container may not", { skip: whyNotAsked() }, async () => {
    await using run = await disposableRunFolder();
    await chmod(folder, 0o777);
    const identity = { uid: 54_321, gid: 54_321 };
    // Its own Node may lie below a private folder.
    const holder = spawn(run.node, ["-e", HOLD], {
      cwd: folder,
      ...identity,
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await once(holder.stdout, "data");
      const asked = { pid: holder.pid, identity, player: run.player };
      const program = `import { RemovedFiles } from "./src/sandbox/confined/removed.ts";
        import { statSync } from "node:fs";
        const { pid, identity, player } = ${JSON.stringify(asked)};
        try { statSync("/proc/" + pid + "/fd/0"); console.log("it may look") } catch (error) { console.log(error.code) }
        console.log(await new RemovedFiles(pid, identity, player).use())`;
      const words = [...without, process.execPath, "--input-type=module", "-e", program];
      const { stdout, stderr } = spawnSync("setpriv", words, { cwd: ROOT, encoding: "utf8" });
      assert.equal(stdout, `EACCES\n${2 * MIB}\n`, stderr);
    } finally {
      holder.kill("SIGKILL");
    }
  });
});

describe("a watch of folders", () => {
  it("tells once who has gone beyond the limit, and of nobody else", async () => {
    const [greedy, modest] = [path.join(folder, "greedy"), path.join(folder, "modest")];
    await Promise.all([mkdir(greedy), mkdir(modest)]);
    const watch = new DiskWatch(MIB);
    const told: string[] = [];
    const exceeded = Promise.withResolvers<void>();
    const stop = watch.watch({ folder: modest, removed: NONE, whileStopped, exceeded: () => told.push("modest") });
    const exceedOnce = (): void => exceeded.resolve(void told.push("greedy"));
    watch.watch({ folder: greedy, removed: NONE, whileStopped, exceeded: exceedOnce });
    await writeFile(path.join(modest, "file"), Buffer.alloc(MIB / 2, 1));
    await writeFile(path.join(greedy, "file"), Buffer.alloc(2 * MIB, 1));
    // Its timers keep no process alive by themselves.
    const alive = setInterval(() => {}, 1_000);
    await exceeded.promise;
    clearInterval(alive);
    stop();
    assert.deepEqual(told, ["greedy"]);
  });
});

async function disposableRunFolder(): Promise<AsyncDisposable & { player: string; node: string }> {
  const run = await prepareRunFolder();
  return { player: run.player, node: run.node, [Symbol.asyncDispose]: () => run.remove() };
}

function whyNotAsked(): string | false {
  if (!isPrivileged()) return "only root can have guests of another user";
  return spawnSync("setpriv", ["--version"]).status === 0 ? false : "there is no setpriv (util-linux)";
}
