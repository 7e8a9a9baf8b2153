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
  return path.join(parent, "not-yet");
}

/** Starts another process that locks the folder. @returns the process and its output. */
async function lockInOtherProcess(t: TestContext, folder: string): Promise<{ child: ChildProcess; output: string }> {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", HOLDER, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const [output]: Buffer[] = await once(child.stdout, "data");
  return { child, output: output!.toString().trim() };
}

function mode(name: string): number {
  return statSync(name).mode & 0o777;
}

it("a folder that a process has locked is refused to another process, with a remedy", async (t) => {
  const folder = await makeFolder(t);
  const { output } = await lockInOtherProcess(t, folder);
  assert.equal(output, "held");
  assert.throws(() => lockDataFolder(folder), IN_USE);
  assert.match((await lockInOtherProcess(t, folder)).output, IN_USE);
});

it("a lock ends with its process, also if the process is killed", async (t) => {
  const folder = await makeFolder(t);
  const { child } = await lockInOtherProcess(t, folder);
  assert.throws(() => lockDataFolder(folder), IN_USE);
  child.kill("SIGKILL");
  await once(child, "exit");
  lockDataFolder(folder).release();
});

it("a lock stays if no variable refers to it", async (t) => {
  const folder = await makeFolder(t);
  lockDataFolder(folder);
  setFlagsFromString("--expose-gc");
  for (let turn = 0; turn < 3; turn++) {
    await immediate();
    runInNewContext("gc")();
  }
  assert.match((await lockInOtherProcess(t, folder)).output, IN_USE);
});

it("a released lock can be locked again, by this process or another", async (t) => {
  const folder = await makeFolder(t);
  lockDataFolder(folder).release();
  const again = lockDataFolder(folder);
  assert.throws(() => lockDataFolder(folder), IN_USE);
  assert.match((await lockInOtherProcess(t, folder)).output, IN_USE);
  again.release();
  assert.equal((await lockInOtherProcess(t, folder)).output, "held");
});

it("each folder has its own lock", async (t) => {
  const [one, two] = [lockDataFolder(await makeFolder(t)), lockDataFolder(await makeFolder(t))];
  one.release();
  two.release();
});

it("the folder and its lock are accessible only for the owner, whatever the mode of the file was", async (t) => {
  const folder = await makeFolder(t);
  lockDataFolder(folder).release();
  const file = path.join(folder, "lock");
  assert.deepEqual([mode(folder), mode(file)], [0o700, 0o600]);
  chmodSync(file, 0o666);
  lockDataFolder(folder).release();
  assert.equal(mode(file), 0o600);
});

it("a lock with content, a second link or other files of SQLite is not opened, because root may open it", async (t) => {
  const plants: Record<string, (file: string) => void> = {
    "it is not an empty file with a single link": (file) => linkSync(file, `${file}.lockInOtherProcess`),
    "lock-journal exists": (file) => writeFileSync(`${file}-journal`, "planted"),
    "lock-wal exists": (file) => symlinkSync("/nowhere", `${file}-wal`),
  };
  for (const [why, plant] of Object.entries(plants)) {
    const folder = await makeFolder(t);
    lockDataFolder(folder).release();
    plant(path.join(folder, "lock"));
    assert.throws(() => lockDataFolder(folder), new RegExp(`lock cannot be locked \\(${why}\\); remove the file`));
  }
});

it("a lock that cannot be opened is not reported as in use by another service", async (t) => {
  const folder = await makeFolder(t);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "lock"), "no database at all, and long enough to be seen as none ".repeat(4));
  assert.throws(
    () => lockDataFolder(folder),
    /cannot be locked \(it is not an empty file with a single link\); remove the file/,
  );
});
