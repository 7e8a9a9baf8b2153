import assert from "node:assert/strict";
import { chmod, readdir, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { makeJail } from "../../../src/sandbox/confined/jail.ts";
import { isPrivileged } from "../../../src/sandbox/privilege.ts";
import { prepareRunFolder, type RunFolder } from "../../../src/sandbox/temp/run-folder.ts";

const STRANGER = 54_321;
const identity = isPrivileged() ? { uid: STRANGER, gid: STRANGER } : { uid: process.getuid!(), gid: process.getgid!() };

let folder: RunFolder;
beforeEach(async () => {
  folder = await prepareRunFolder();
});
afterEach(() => folder.remove());

describe("a jail", () => {
  it("is closed to other users, and each root has Node, its libraries, the guest program and an empty /tmp", async () => {
    const jail = await makeJail(folder);
    assert.equal((await stat(jail.path)).mode & 0o777, 0o700);
    const { root, tmp } = jail.makeRoot(identity);
    const all = await readdir(root!, { recursive: true });
    for (const name of [
      "bin/node",
      "guest/guest/main.js",
      "guest/guest/program.cache",
      "guest/guest/network/worker.js",
    ]) {
      assert.ok(all.includes(name), name);
    }
    const outside = (await readdir(root!)).filter(
      (name) => !["bin", "guest", "lib", "lib64", "usr", "tmp"].includes(name),
    );
    assert.deepEqual([outside, await readdir(tmp)], [[], []]);
    assert.equal((await stat(tmp)).uid, identity.uid);
    // The guest may change nothing else.
    const own = await Promise.all(all.map(async (name) => ((await stat(path.join(root!, name))).mode & 0o022) !== 0));
    assert.ok(!own.includes(true));
  });

  it("gives two guests the same files, but separate folders and a separate /tmp", async () => {
    const jail = await makeJail(folder);
    const [one, other] = [jail.makeRoot(identity), jail.makeRoot(identity)];
    const inodes = async (name: string): Promise<number[]> =>
      Promise.all([one, other].map(async ({ root }) => (await stat(path.join(root!, name))).ino));
    const [nodes, folders] = [await inodes("bin/node"), await inodes("bin")];
    assert.equal(nodes[0], nodes[1]);
    assert.notEqual(folders[0], folders[1]);
    await one.remove();
    assert.ok((await stat(path.join(other.root!, "bin/node"))).size > 0);
  });

  it("copies a Node executable that other users may write to, and makes the copy read-only for them", async () => {
    const node = path.join(folder.path, "another-node");
    await writeFile(node, "not the same");
    await chmod(node, 0o777);
    const { root } = (await makeJail({ ...folder, node })).makeRoot(identity);
    const [original, copy] = await Promise.all([stat(node), stat(path.join(root!, "bin/node"))]);
    assert.notEqual(copy.ino, original.ino);
    assert.equal(copy.mode & 0o777, 0o755);
  });

  it("is removed with its run folder, with all files that guests have written", async () => {
    const jail = await makeJail(folder);
    const { tmp } = jail.makeRoot(identity);
    await writeFile(path.join(tmp, "file"), "x");
    await chmod(tmp, 0);
    await folder.remove();
    await assert.rejects(stat(jail.path), { code: "ENOENT" });
    await rm(folder.path, { recursive: true, force: true });
  });
});
