import assert from "node:assert/strict";
import {
  appendFile,
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { type Jail, openJail } from "../../../src/sandbox/confined/jail.ts";
import { isPrivileged } from "../../../src/sandbox/privilege.ts";
import { prepareRunFolder, type RunFolder } from "../../../src/sandbox/run-folder.ts";

const STRANGER = 54_321;
/** Of a process that is no more: process 1 never began at this moment. */
const DEAD = "1-7-";

let place: string;
let folder: RunFolder;
const open: Jail[] = [];

beforeEach(async () => {
  place = await mkdtemp(path.join(tmpdir(), "caisson-jails-"));
  folder = await prepareRunFolder();
});
afterEach(async () => {
  await closeAll();
  await folder.remove();
  await rm(place, { recursive: true, force: true });
});

async function openHere(): Promise<Jail> {
  const jail = await openJail(place, folder);
  open.push(jail);
  return jail;
}

async function closeAll(): Promise<void> {
  for (const jail of open.splice(0)) await jail.close();
}

const identity = isPrivileged() ? { uid: STRANGER, gid: STRANGER } : { uid: process.getuid!(), gid: process.getgid!() };

describe("a jail", () => {
  it("is built once, and found again by the next start", async () => {
    const first = await openHere();
    await closeAll();
    const { ino } = await stat(first.path);
    const second = await openHere();
    assert.deepEqual([second.path, (await stat(second.path)).ino], [first.path, ino]);
    assert.deepEqual(await readdir(place), [path.basename(first.path)]);
  });

  it("is one for all services that use it at a time, and each gives up its own part", async () => {
    const [one, other] = [await openHere(), await openHere()];
    assert.equal(one.path, other.path);
    const root = other.makeRoot(identity);
    await one.close();
    assert.ok((await stat(path.join(root.root!, "bin/node"))).size > 0);
  });

  it("serves two that start at the same time, and leaves one for the next", async () => {
    await Promise.all([openHere(), openHere(), openHere()]);
    for (const jail of open) assert.ok(jail.makeRoot(identity).root);
    await closeAll();
    await openHere();
    assert.equal((await readdir(place)).length, 1);
  });

  it("is closed to all others, and each root holds Node, its libraries, the guest and an empty /tmp", async () => {
    const jail = await openHere();
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
    // Of the rest nothing is the guest's to change.
    const own = await Promise.all(all.map(async (name) => ((await stat(path.join(root!, name))).mode & 0o022) !== 0));
    assert.ok(!own.includes(true));
  });

  it("is another when the guest program has changed, and the old one goes when nobody uses it", async () => {
    const old = await openHere();
    await appendFile(path.join(folder.program, "guest/main.js"), "\n// another\n");
    const changed = await openHere();
    assert.notEqual(changed.path, old.path);
    // Still in use.
    assert.equal((await readdir(place)).length, 2);
    await closeAll();
    assert.equal((await openHere()).path, changed.path);
    assert.deepEqual(await readdir(place), [path.basename(changed.path)]);
  });

  it("is another when Node has changed", async () => {
    const old = await openHere();
    const node = path.join(folder.path, "another-node");
    await writeFile(node, "not the same");
    await chmod(node, 0o755);
    const changed = await openJail(place, { ...folder, node });
    open.push(changed);
    assert.notEqual(changed.path, old.path);
  });
});

describe("a jail that cannot be believed", () => {
  const damages: [string, (jail: string) => Promise<unknown>][] = [
    ["lacks a file", (jail) => rm(path.join(jail, "root/guest/guest/main.js"))],
    ["has a file besides", (jail) => writeFile(path.join(jail, "root/more"), "")],
    ["was cut off", (jail) => cutOff(path.join(jail, "root/guest/guest/main.js"))],
    ["has another text of the same length", (jail) => scramble(path.join(jail, "root/guest/guest/main.js"))],
    ["has a link in the place of a file", (jail) => exchangeForLink(path.join(jail, "root/guest/guest/main.js"))],
    ["is open to others", (jail) => chmod(jail, 0o777)],
    [
      "may be written by others in one of its files",
      (jail) => chmod(path.join(jail, "root/guest/guest/main.js"), 0o666),
    ],
  ];
  for (const [what, damage] of damages) {
    it(`is not used: one that ${what}`, async () => {
      const { path: damaged } = await openHere();
      await closeAll();
      await damage(damaged);
      const { path: used } = await openHere();
      assert.notEqual(used, damaged);
    });
  }

  it("is neither used nor removed when it is somebody else's", { skip: !isPrivileged() }, async () => {
    const { path: stolen } = await openHere();
    await closeAll();
    await chown(stolen, STRANGER, STRANGER);
    assert.notEqual((await openHere()).path, stolen);
    assert.ok(await stat(stolen));
  });

  it("is no link to one", async () => {
    const { path: real } = await openHere();
    await closeAll();
    const elsewhere = await mkdtemp(path.join(tmpdir(), "caisson-elsewhere-"));
    await rename(real, path.join(elsewhere, "jail"));
    await symlink(path.join(elsewhere, "jail"), real);
    assert.notEqual((await openHere()).path, real);
    assert.ok(await stat(path.join(elsewhere, "jail/root/bin/node")));
    await rm(elsewhere, { recursive: true });
  });
});

/** Makes it older than the moment in which a folder has not yet shown that its service is alive. */
async function age(left: string): Promise<void> {
  const past = Date.now() / 1_000 - 3_600;
  await utimes(left, past, past);
}

describe("what was left", () => {
  it("by a build that was killed goes with the next start", async () => {
    const building = path.join(place, `caisson-building-${DEAD}abcdef`);
    await mkdir(path.join(building, "root/bin"), { recursive: true });
    await age(building);
    const jail = await openHere();
    assert.deepEqual(await readdir(place), [path.basename(jail.path)]);
  });

  it("by a removal that was killed goes with the next start", async () => {
    await mkdir(path.join(place, "caisson-jail-0123456789abcdef-abcdef/root/bin"), { recursive: true, mode: 0o700 });
    await chmod(path.join(place, "caisson-jail-0123456789abcdef-abcdef"), 0o700);
    const jail = await openHere();
    assert.deepEqual(await readdir(place), [path.basename(jail.path)]);
  });

  it("by a service that was killed goes with the next start, with all that its guests have written", async () => {
    const { path: jail } = await openHere();
    const left = path.join(jail, "users", `${DEAD}abcdef12`, "1/tmp/deep/er");
    await mkdir(left, { recursive: true });
    await writeFile(path.join(left, "file"), "x");
    await chmod(left, 0);
    await age(path.join(jail, "users", `${DEAD}abcdef12`));
    await openHere();
    const users = await readdir(path.join(jail, "users"));
    assert.deepEqual(
      users.filter((name) => name.startsWith(DEAD)),
      [],
    );
  });
});

/** Under another inode: the template's names are further names of what the service itself runs. */
async function replaced(file: string, text: string): Promise<void> {
  await rm(file);
  await writeFile(file, text);
}

async function cutOff(file: string): Promise<void> {
  await replaced(file, "");
  await truncate(file, 1);
}

async function scramble(file: string): Promise<void> {
  await replaced(file, "x".repeat((await stat(file)).size));
}

async function exchangeForLink(file: string): Promise<void> {
  await rename(file, `${file}.real`);
  await rm(`${file}.real`);
  await symlink(path.join(folder.program, "guest/main.js"), file);
}
