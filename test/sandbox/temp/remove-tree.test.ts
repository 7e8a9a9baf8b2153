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
const SOMEBODY = 54_321;
/** Walks down by relative names, as no path could. */
const NEST = `for (let n = 0; n < 40; n++) { const name = "d".repeat(250); fs.mkdirSync(name); process.chdir(name); }`;
const MAKE = `const fs = require("node:fs"); process.chdir(process.argv[1]); ${NEST}; fs.writeFileSync("bottom", "x")`;

let place: string;
let tree: string;

beforeEach(async () => {
  place = await mkdtemp(path.join(tmpdir(), "caisson-tree-"));
  await chmod(place, 0o777);
  tree = path.join(place, "tree");
});
afterEach(() => rm(place, { recursive: true, force: true }));

describe("removeTree", () => {
  it("removes a folder with all that is in it, and nothing that a link leads to", async () => {
    const outside = path.join(place, "outside");
    await mkdir(path.join(tree, "some/more"), { recursive: true });
    await writeFile(path.join(tree, "some/file"), "x");
    await writeFile(outside, "x");
    await symlink(outside, path.join(tree, "link"));
    await symlink(place, path.join(tree, "up"));
    await removeTree(tree);
    assert.deepEqual(await readdir(place), ["outside"]);
  });

  it("does nothing where there is nothing, or no folder", async () => {
    await removeTree(tree);
    await symlink(place, tree);
    await removeTree(tree);
    assert.ok(existsSync(tree));
  });

  it("removes what has a name that is no text", async () => {
    const below = Buffer.from(`${tree}/\xff`, "latin1");
    await mkdir(tree);
    await mkdir(below);
    await writeFile(Buffer.concat([below, Buffer.from("/\xfe", "latin1")]), "x");
    await removeTree(tree);
    assert.deepEqual(await readdir(place), []);
  });

  it("removes what lies deeper than a path can be long", async () => {
    await mkdir(tree);
    execFileSync(process.execPath, ["-e", MAKE, tree]);
    await removeTree(tree);
    assert.deepEqual(await readdir(place), []);
  });

  it("removes what belongs to somebody else", { skip: process.getuid!() !== 0 && "only root can" }, async () => {
    await mkdir(path.join(tree, "theirs/more"), { recursive: true });
    await writeFile(path.join(tree, "theirs/more/file"), "x");
    for (const name of ["theirs/more/file", "theirs/more", "theirs"])
      await chown(path.join(tree, name), SOMEBODY, SOMEBODY);
    await chmod(path.join(tree, "theirs"), 0);
    await removeTree(tree);
    assert.deepEqual(await readdir(place), []);
  });

  it("removes, as a user, folders that not even their owner may read or write", { skip: whyNoUser() }, async () => {
    await mkdir(path.join(tree, "closed/more"), { recursive: true });
    await writeFile(path.join(tree, "closed/more/file"), "x");
    for (const name of ["closed/more/file", "closed/more", "closed", ""]) {
      await chown(path.join(tree, name), SOMEBODY, SOMEBODY);
      await chmod(path.join(tree, name), 0);
    }
    const program = `import { removeTree } from "./src/sandbox/temp/remove-tree.ts"; await removeTree(${JSON.stringify(tree)})`;
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      cwd: ROOT,
      uid: SOMEBODY,
      gid: SOMEBODY,
      encoding: "utf8",
    });
    assert.equal(run.status, 0, run.stderr);
    assert.deepEqual(await readdir(place), []);
  });
});
