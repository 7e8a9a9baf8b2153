import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, open, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { DiskWatch } from "../../../src/sandbox/confined/disk-watch.ts";
import { diskUse } from "../../../src/sandbox/confined/disk.ts";
import { removeTree } from "../../../src/sandbox/remove-tree.ts";

const MIB = 2 ** 20;
const NOBODY = 0x7fff_ffff;
const DEEP = `process.chdir(process.argv[1]);
for (let n = 0; n < 40; n++) { const name = "d".repeat(250); require("node:fs").mkdirSync(name); process.chdir(name); }`;

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
    const used = await diskUse(folder, NOBODY, 64 * MIB);
    assert.ok(used >= 3 * MIB && used < 4 * MIB, String(used));
  });

  it("counts files that are empty, of which there could be any number", async () => {
    for (let n = 0; n < 100; n++) await writeFile(path.join(folder, String(n)), "");
    assert.equal(await diskUse(folder, NOBODY, 64 * MIB), 100 * 4_096);
  });

  it("counts what was removed and is still open, once", async () => {
    const file = path.join(folder, "file");
    await using one = await open(file, "w");
    await using other = await open(file, "r");
    await one.write(Buffer.alloc(MIB, 1));
    await unlink(file);
    const used = await diskUse(folder, process.pid, 64 * MIB);
    assert.ok(used >= MIB && used < 2 * MIB, `${used} by ${other.fd}`);
  });

  it("is more than any limit where it lies deeper than a path can be long", async () => {
    execFileSync(process.execPath, ["-e", DEEP, folder]);
    assert.equal(await diskUse(folder, NOBODY, 64 * MIB), Infinity);
  });

  it("is nothing where the folder has gone", async () => {
    assert.equal(await diskUse(path.join(folder, "gone"), NOBODY, MIB), 0);
  });
});

describe("a watch of folders", () => {
  it("tells once who has gone beyond the limit, and of nobody else", async () => {
    const [greedy, modest] = [path.join(folder, "greedy"), path.join(folder, "modest")];
    await Promise.all([mkdir(greedy), mkdir(modest)]);
    const watch = new DiskWatch(MIB);
    const told: string[] = [];
    const exceeded = Promise.withResolvers<void>();
    const stop = watch.watch({ folder: modest, pid: NOBODY, exceeded: () => told.push("modest") });
    watch.watch({ folder: greedy, pid: NOBODY, exceeded: () => exceeded.resolve(void told.push("greedy")) });
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
