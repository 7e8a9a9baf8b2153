import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it, type TestContext } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { lockDataFolder } from "../src/data-lock.ts";

const HOLDER = path.join(import.meta.dirname, "data-lock-holder.ts");
const IN_USE = /in use by another service.*--data/;

async function makeFolder(t: TestContext): Promise<string> {
  const parent = await mkdtemp(path.join(tmpdir(), "caisson-lock-"));
  t.after(() => rm(parent, { recursive: true, force: true }));
  return path.join(parent, "not/there/yet");
}

/** Another process that locks the folder, and what it said of that. */
async function other(t: TestContext, folder: string): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", HOLDER, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const [said]: Buffer[] = await once(child.stdout, "data");
  return { child, said: said!.toString().trim() };
}

function mode(name: string): number {
  return statSync(name).mode & 0o777;
}

it("a folder that one process has locked is refused to another, with the way out", async (t) => {
  const folder = await makeFolder(t);
  const { said } = await other(t, folder);
  assert.equal(said, "held");
  assert.throws(() => lockDataFolder(folder), IN_USE);
  assert.match((await other(t, folder)).said, IN_USE);
});

it("a lock goes with its process, also when that was killed", async (t) => {
  const folder = await makeFolder(t);
  const { child } = await other(t, folder);
  assert.throws(() => lockDataFolder(folder), IN_USE);
  child.kill("SIGKILL");
  await once(child, "exit");
  lockDataFolder(folder).release();
});

it("a lock stays when nothing refers to it any more", async (t) => {
  const folder = await makeFolder(t);
  lockDataFolder(folder);
  setFlagsFromString("--expose-gc");
  for (let turn = 0; turn < 3; turn++) {
    await immediate();
    runInNewContext("gc")();
  }
  assert.match((await other(t, folder)).said, IN_USE);
});

it("a lock that was released can be taken, by this process or another, and then holds again", async (t) => {
  const folder = await makeFolder(t);
  lockDataFolder(folder).release();
  const again = lockDataFolder(folder);
  assert.throws(() => lockDataFolder(folder), IN_USE);
  assert.match((await other(t, folder)).said, IN_USE);
  again.release();
  assert.equal((await other(t, folder)).said, "held");
});

it("folders are locked each by itself", async (t) => {
  const [one, two] = [lockDataFolder(await makeFolder(t)), lockDataFolder(await makeFolder(t))];
  one.release();
  two.release();
});

it("the folder and its lock are the owner's alone, whatever the file was before", async (t) => {
  const folder = await makeFolder(t);
  lockDataFolder(folder).release();
  const file = path.join(folder, "lock");
  assert.deepEqual([mode(folder), mode(file)], [0o700, 0o600]);
  chmodSync(file, 0o666);
  lockDataFolder(folder).release();
  assert.equal(mode(file), 0o600);
});

it("a lock that is, or has beside it, what SQLite would write to is not opened: root may be the one who does", async (t) => {
  const strange: Record<string, (file: string) => void> = {
    "it is no empty file of its own": (file) => linkSync(file, `${file}.other`),
    "there is a lock-journal": (file) => writeFileSync(`${file}-journal`, "left by somebody"),
    "there is a lock-wal": (file) => symlinkSync("/nowhere", `${file}-wal`),
  };
  for (const [why, plant] of Object.entries(strange)) {
    const folder = await makeFolder(t);
    lockDataFolder(folder).release();
    plant(path.join(folder, "lock"));
    assert.throws(() => lockDataFolder(folder), new RegExp(`lock cannot be locked \\(${why}\\); remove it`));
  }
});

it("a lock that cannot be taken for another reason is not blamed on another service", async (t) => {
  const folder = await makeFolder(t);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "lock"), "no database at all, and long enough to be seen as none ".repeat(4));
  assert.throws(() => lockDataFolder(folder), /cannot be locked \(it is no empty file of its own\); remove it/);
});
