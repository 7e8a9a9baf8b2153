import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it, type TestContext } from "node:test";

import { isLeft, ownName, removeLeftovers } from "../../src/sandbox/leftovers.ts";

const PREFIX = "caisson-test-run-";

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-leftovers-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A run folder of a service, with a file in it. */
async function runFolder(parent: string, name: string): Promise<string> {
  const folder = path.join(parent, name);
  await mkdir(path.join(folder, "program/guest"), { recursive: true });
  await writeFile(path.join(folder, "program/guest/main.js"), "");
  return folder;
}

/** A process whose command line names a folder, as that of a guest does which is being started. */
function userOf(t: TestContext, folder: string): ChildProcess {
  const child = spawn("sh", ["-c", "read waits", "sh", `${folder}/program/guest`], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

/** The id of a process that has been and gone. */
async function deadPid(): Promise<number> {
  const child = spawn("true");
  await once(child, "exit");
  return child.pid!;
}

it("the folder of a service that is dead is removed, and a process that it was starting is killed", async (t) => {
  const parent = await makeFolder(t);
  const folder = await runFolder(parent, `${PREFIX}${await deadPid()}-1-AbC123`);
  const child = userOf(t, folder);
  const exited = once(child, "exit");
  await once(child, "spawn");
  await removeLeftovers(parent, PREFIX);
  const [, signal] = (await exited) as [number | null, string | null];
  assert.equal(signal, "SIGKILL");
  assert.equal(existsSync(folder), false);
});

it("the folder of a service whose id another process has by now is removed", async (t) => {
  const parent = await makeFolder(t);
  const [own, other] = await Promise.all(
    [`${ownName(PREFIX)}x`, `${PREFIX}${process.pid}-1-x`].map((name) => runFolder(parent, name)),
  );
  await removeLeftovers(parent, PREFIX);
  assert.deepEqual([existsSync(own!), existsSync(other!)], [true, false]);
});

it("the folder of a service that lives is kept, and so are its processes", async (t) => {
  const parent = await makeFolder(t);
  const names = [`${ownName(PREFIX)}x`, `${ownName(PREFIX)}y`];
  const folders = await Promise.all(names.map((name) => runFolder(parent, name)));
  const children = folders.map((folder) => userOf(t, folder));
  await Promise.all(children.map((child) => once(child, "spawn")));
  // One that is dead beside them shows that the sweep has come by.
  const dead = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
  await removeLeftovers(parent, PREFIX);
  assert.equal(existsSync(dead), false);
  assert.ok(folders.every((folder) => existsSync(folder)));
  for (const child of children) assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
});

it("a process whose command line only begins like a dead service's folder is let live", async (t) => {
  const parent = await makeFolder(t);
  const folder = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
  const child = userOf(t, `${folder}yz`);
  await once(child, "spawn");
  await removeLeftovers(parent, PREFIX);
  assert.equal(existsSync(folder), false);
  assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
});

it("what has another name is nobody's leftover", async (t) => {
  const parent = await makeFolder(t);
  const pid = await deadPid();
  const names = [
    `other-${pid}-x`,
    `x${PREFIX}${pid}-x`,
    PREFIX,
    `${PREFIX}none`,
    `${PREFIX}${pid}-x`,
    `${ownName(PREFIX)}x`,
  ];
  for (const name of names) {
    await mkdir(path.join(parent, name));
    assert.equal(isLeft(name, PREFIX), false, name);
  }
  assert.equal(isLeft(`${PREFIX}${pid}-1-x`, PREFIX), true);
  await removeLeftovers(parent, PREFIX);
  for (const name of names) assert.ok(existsSync(path.join(parent, name)), name);
});

it(
  "a folder that a stranger has made under such a name is not touched",
  { skip: process.getuid?.() !== 0 },
  async (t) => {
    const parent = await makeFolder(t);
    const folder = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
    chownSync(folder, 65_534, 65_534);
    const child = userOf(t, folder);
    await once(child, "spawn");
    await removeLeftovers(parent, PREFIX);
    assert.ok(existsSync(folder));
    assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
  },
);
