import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { removeTree } from "../../../src/sandbox/temp/remove-tree.ts";
import { whyNoUser } from "../../contract/user.ts";

const ROOT = path.join(import.meta.dirname, "../../..");
const OTHER_USER = 54_321;
/** Creates folders by relative names, deeper than the maximum length of a path. */
const NEST = `for (let n = 0; n < 40; n++) { const name = "d".repeat(250); fs.mkdirSync(name); process.chdir(name); }`;
const MAKE = `const fs = require("node:fs"); process.chdir(process.argv[1]); ${NEST}; fs.writeFileSync("bottom", "x")`;

let parent: string;
let tree: string;

beforeEach(async () => {
  parent = await mkdtemp(path.join(tmpdir(), "caisson-tree-"));
  await chmod(parent, 0o777);
  tree = path.join(parent, "tree");
});
afterEach(() => rm(parent, { recursive: true, force: true }));

describe("removeTree", () => {
  it("removes a folder with its content, but no file that a link points to", async () => {
    const outside = path.join(parent, "outside");
    await mkdir(path.join(tree, "some/more"), { recursive: true });
    await writeFile(path.join(tree, "some/file"), "x");
    await writeFile(outside, "x");
    await symlink(outside, path.join(tree, "link"));
    await symlink(parent, path.join(tree, "up"));
    await removeTree(tree);
    assert.deepEqual(await readdir(parent), ["outside"]);
  });

  it("does nothing if the path does not exist or is not a folder", async () => {
    await removeTree(tree);
    await symlink(parent, tree);
    await removeTree(tree);
    assert.ok(existsSync(tree));
  });

  it("removes files and folders whose names are invalid UTF-8", async () => {
    const below = Buffer.from(`${tree}/\xff`, "latin1");
    await mkdir(tree);
    await mkdir(below);
    await writeFile(Buffer.concat([below, Buffer.from("/\xfe", "latin1")]), "x");
    await removeTree(tree);
    assert.deepEqual(await readdir(parent), []);
  });

  it("removes folders that are deeper than the maximum length of a path", async () => {
    await mkdir(tree);
    execFileSync(process.execPath, ["-e", MAKE, tree]);
    await removeTree(tree);
    assert.deepEqual(await readdir(parent), []);
  });

  it("removes files and folders of another user", { skip: process.getuid!() !== 0 && "only root can" }, async () => {
    await mkdir(path.join(tree, "theirs/more"), { recursive: true });
    await writeFile(path.join(tree, "theirs/more/file"), "x");
    for (const name of ["theirs/more/file", "theirs/more", "theirs"])
      await chown(path.join(tree, name), OTHER_USER, OTHER_USER);
    await chmod(path.join(tree, "theirs"), 0);
    await removeTree(tree);
    assert.deepEqual(await readdir(parent), []);
  });

  it("removes, as a user, folders that not even their owner may read or write", { skip: whyNoUser() }, async () => {
    await mkdir(path.join(tree, "closed/more"), { recursive: true });
    await writeFile(path.join(tree, "closed/more/file"), "x");
    for (const name of ["closed/more/file", "closed/more", "closed", ""]) {
      await chown(path.join(tree, name), OTHER_USER, OTHER_USER);
      await chmod(path.join(tree, name), 0);
    }
    const program = `import { removeTree } from "./src/sandbox/temp/remove-tree.ts"; await removeTree(${JSON.stringify(tree)})`;
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      cwd: ROOT,
      uid: OTHER_USER,
      gid: OTHER_USER,
      encoding: "utf8",
    });
    assert.equal(run.status, 0, run.stderr);
    assert.deepEqual(await readdir(parent), []);
  });
});
