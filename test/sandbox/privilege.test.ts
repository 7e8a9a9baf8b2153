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
const asRoot = { skip: isPrivileged() ? false : "only root has something to give up" };
/** The process that runs what follows, as one that gave root up. */
const PRELUDE = 'import { giveUpRoot, isPrivileged } from "./src/sandbox/privilege.ts";';

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-privilege-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function inNode(code: string): string {
  const words = ["--input-type=module", "--eval", `${PRELUDE}${code}`];
  return execFileSync("scripts/node", words, { cwd: ROOT, encoding: "utf8" }).trim();
}

describe("isPrivileged", { skip: asRoot.skip || whyNoSetpriv() }, () => {
  for (const capability of ["chown", "kill", "setgid", "setuid"]) {
    it(`is not who lacks ${capability}: guests of other users could not be made, or not be ended`, () => {
      const less = ["--bounding-set", `-${capability}`, "--inh-caps", `-${capability}`, "scripts/node"];
      const words = [...less, "--input-type=module", "--eval", `${PRELUDE} console.log(isPrivileged())`];
      assert.equal(execFileSync("setpriv", words, { cwd: ROOT, encoding: "utf8" }).trim(), "false");
    });
  }
});

function whyNoSetpriv(): string | false {
  return spawnSync("setpriv", ["--version"]).status === 0 ? false : "there is no setpriv (util-linux)";
}

describe("giveUpRoot", asRoot, () => {
  it("leaves no way back, no group and no capability", () => {
    const said = inNode(`
      giveUpRoot({ uid: 54321, gid: 54322 });
      let back = "stayed";
      try { process.setuid(0); back = "root again" } catch {}
      console.log(JSON.stringify([process.getuid(), process.getgid(), process.getgroups(), isPrivileged(), back]));
    `);
    assert.deepEqual(JSON.parse(said), [54_321, 54_322, [54_322], false, "stayed"]);
  });

  it("holds for the threads that Node has started already", () => {
    const said = inNode(`
      import { readdirSync, readFileSync } from "node:fs";
      giveUpRoot({ uid: 54321, gid: 54322 });
      const users = readdirSync("/proc/self/task").map((id) => readFileSync("/proc/self/task/" + id + "/status", "utf8").match(/Uid:.*/)[0]);
      console.log(JSON.stringify([users.length > 1, [...new Set(users)]]));
    `);
    assert.deepEqual(JSON.parse(said), [true, ["Uid:\t54321\t54321\t54321\t54321"]]);
  });
});

describe("serviceIdentity", () => {
  it("is the user that is named, by name or by number", async () => {
    const nobody = await serviceIdentity("nobody", "/");
    assert.ok(nobody.uid > 0 && nobody.gid > 0);
    assert.deepEqual(await serviceIdentity(String(nobody.uid), "/"), nobody);
    assert.deepEqual(await serviceIdentity("54321", "/"), { uid: 54_321, gid: 54_321 });
  });

  it("is never root, and never somebody who does not exist", async () => {
    await assert.rejects(serviceIdentity("root", "/"), /root is what is given up/);
    await assert.rejects(serviceIdentity("0", "/"), /root is what is given up/);
    await assert.rejects(serviceIdentity("no-such-user", "/"), /knows no such user/);
  });

  it("is the owner of the data folder, and one that nobody else is when that is root", asRoot, async (t) => {
    const folder = await folderOf(t);
    const { uid } = await serviceIdentity(null, folder);
    assert.ok(uid > 0);
    chownSync(folder, 54_321, 54_322);
    assert.deepEqual(await serviceIdentity(null, folder), { uid: 54_321, gid: 54_322 });
  });
});

describe("guestUids", asRoot, () => {
  it("gives every guest another user, above those of people and of the service", () => {
    const next = guestUids();
    const ids = Array.from({ length: 1_000 }, () => next().uid!);
    assert.equal(new Set(ids).size, 1_000);
    assert.ok(Math.min(...ids) > 0x6fff_ffff);
  });
});
