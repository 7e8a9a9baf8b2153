import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chownSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it, type TestContext } from "node:test";

import { isPrivileged, serviceIdentity } from "../../src/sandbox/privilege.ts";
import { guestUids } from "../../src/sandbox/uids.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const asRoot = { skip: isPrivileged() ? false : "only root can give up root" };
/** The imports of the code that the tests run in another process. */
const PRELUDE = 'import { giveUpRoot, isPrivileged } from "./src/sandbox/privilege.ts";';

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-privilege-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function inNode(code: string): string {
  const args = ["--input-type=module", "--eval", `${PRELUDE}${code}`];
  return execFileSync("scripts/node", args, { cwd: ROOT, encoding: "utf8" }).trim();
}

describe("isPrivileged", { skip: asRoot.skip || whyNoSetpriv() }, () => {
  for (const capability of ["chown", "kill", "setgid", "setuid"]) {
    it(`is false for a process without ${capability}, which it needs to start or kill guests of other users`, () => {
      const less = ["--bounding-set", `-${capability}`, "--inh-caps", `-${capability}`, "scripts/node"];
      const args = [...less, "--input-type=module", "--eval", `${PRELUDE} console.log(isPrivileged())`];
      assert.equal(execFileSync("setpriv", args, { cwd: ROOT, encoding: "utf8" }).trim(), "false");
    });
  }
});

function whyNoSetpriv(): string | false {
  return spawnSync("setpriv", ["--version"]).status === 0 ? false : "there is no setpriv (util-linux)";
}

describe("giveUpRoot", asRoot, () => {
  it("removes all groups and capabilities, and cannot be undone", () => {
    const output = inNode(`
      giveUpRoot({ uid: 54321, gid: 54322 });
      let back = "stayed";
      try { process.setuid(0); back = "root again" } catch {}
      console.log(JSON.stringify([process.getuid(), process.getgid(), process.getgroups(), isPrivileged(), back]));
    `);
    assert.deepEqual(JSON.parse(output), [54_321, 54_322, [54_322], false, "stayed"]);
  });

  it("also changes the user of threads that Node has already started", () => {
    const output = inNode(`
      import { readdirSync, readFileSync } from "node:fs";
      giveUpRoot({ uid: 54321, gid: 54322 });
      const users = readdirSync("/proc/self/task").map((id) => readFileSync("/proc/self/task/" + id + "/status", "utf8").match(/Uid:.*/)[0]);
      console.log(JSON.stringify([users.length > 1, [...new Set(users)]]));
    `);
    assert.deepEqual(JSON.parse(output), [true, ["Uid:\t54321\t54321\t54321\t54321"]]);
  });
});

describe("serviceIdentity", () => {
  it("returns the named user, by name or by id", async () => {
    const nobody = await serviceIdentity("nobody", "/");
    assert.ok(nobody.uid > 0 && nobody.gid > 0);
    assert.deepEqual(await serviceIdentity(String(nobody.uid), "/"), nobody);
    assert.deepEqual(await serviceIdentity("54321", "/"), { uid: 54_321, gid: 54_321 });
  });

  it("rejects root and users that do not exist", async () => {
    await assert.rejects(serviceIdentity("root", "/"), /the service gives up root/);
    await assert.rejects(serviceIdentity("0", "/"), /the service gives up root/);
    await assert.rejects(serviceIdentity("no-such-user", "/"), /has no such user/);
  });

  it("returns the owner of the data folder, or an unassigned user if root is the owner", asRoot, async (t) => {
    const folder = await folderOf(t);
    const { uid } = await serviceIdentity(null, folder);
    assert.ok(uid > 0);
    chownSync(folder, 54_321, 54_322);
    assert.deepEqual(await serviceIdentity(null, folder), { uid: 54_321, gid: 54_322 });
  });
});

describe("guestUids", asRoot, () => {
  it("returns a different user for each guest, above all users of the system and of the service", () => {
    const next = guestUids();
    const ids = Array.from({ length: 1_000 }, () => next().uid!);
    assert.equal(new Set(ids).size, 1_000);
    assert.ok(Math.min(...ids) > 0x6fff_ffff);
  });
});
