import assert from "node:assert/strict";
import { chownSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it, type TestContext } from "node:test";

import { isPrivileged } from "../../../src/sandbox/privilege.ts";
import { giveFolder, refuseLinks } from "../../../src/sandbox/temp/give-folder.ts";

const OTHER_USER = { uid: 54_321, gid: 54_322 };

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-give-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  mkdirSync(path.join(folder, "limits"));
  writeFileSync(path.join(folder, "limits/journal"), "");
  return folder;
}

describe("giveFolder", { skip: isPrivileged() ? false : "only root can change owners" }, () => {
  it("changes the owner of the folder and everything in it", async (t) => {
    const folder = await folderOf(t);
    await giveFolder(folder, OTHER_USER);
    for (const name of ["", "limits", "limits/journal"]) {
      const { uid, gid } = statSync(path.join(folder, name));
      assert.deepEqual({ uid, gid }, OTHER_USER, name);
    }
  });

  it("changes no file or folder behind a link", async (t) => {
    const [folder, roots] = [await folderOf(t), await folderOf(t)];
    symlinkSync(roots, path.join(folder, "link"));
    await assert.rejects(giveFolder(folder, OTHER_USER), /link is a link/);
    for (const name of ["", "limits", "limits/journal"]) assert.equal(statSync(path.join(roots, name)).uid, 0, name);
  });

  it("does not change the owner of a file of root that has a second name in the folder", async (t) => {
    const [folder, roots] = [await folderOf(t), await folderOf(t)];
    chownSync(folder, OTHER_USER.uid, OTHER_USER.gid);
    linkSync(path.join(roots, "limits/journal"), path.join(folder, "other"));
    await assert.rejects(giveFolder(folder, OTHER_USER), /other has a second name/);
    assert.equal(statSync(path.join(roots, "limits/journal")).uid, 0);
  });
});

describe("refuseLinks", () => {
  it("accepts a folder without links, and rejects with the first link in another folder", async (t) => {
    const folder = await folderOf(t);
    await refuseLinks(folder);
    symlinkSync("/nowhere", path.join(folder, "limits/link"));
    await assert.rejects(refuseLinks(folder), (error: Error) =>
      error.message.startsWith(`${folder}/limits/link is a link`),
    );
  });
});
