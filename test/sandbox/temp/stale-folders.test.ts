import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it, type TestContext } from "node:test";

import { showLiveness } from "../../../src/sandbox/temp/liveness.ts";
import { isStaleTag, processTag } from "../../../src/sandbox/temp/process-tag.ts";
import { removeStaleFolders } from "../../../src/sandbox/temp/stale-folders.ts";

const PREFIX = "caisson-test-run-";

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-stale-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates the run folder of a service, with a file in it. */
async function runFolder(parent: string, name: string): Promise<string> {
  const folder = path.join(parent, name);
  await mkdir(path.join(folder, "program/guest"), { recursive: true });
  await writeFile(path.join(folder, "program/guest/main.js"), "");
  await age(folder);
  return folder;
}

/** Makes a folder older than the time in which a new folder may have no socket yet. */
async function age(folder: string): Promise<void> {
  const before = Date.now() / 1_000 - 3_600;
  await utimes(folder, before, before);
}

/** Starts a process whose command line names a folder, like that of a starting guest. */
function userOf(t: TestContext, folder: string): ChildProcess {
  const child = spawn("sh", ["-c", "read waits", "sh", `${folder}/program/guest`], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

/** Returns the id of an ended process. */
async function deadPid(): Promise<number> {
  const child = spawn("true");
  await once(child, "exit");
  return child.pid!;
}

it("the folder of an ended service is removed, and a guest that it was starting is killed", async (t) => {
  const parent = await makeFolder(t);
  const folder = await runFolder(parent, `${PREFIX}${await deadPid()}-1-AbC123`);
  const child = userOf(t, folder);
  const exited = once(child, "exit");
  await once(child, "spawn");
  await removeStaleFolders(parent, PREFIX);
  const [, signal] = (await exited) as [number | null, string | null];
  assert.equal(signal, "SIGKILL");
  assert.equal(existsSync(folder), false);
});

/** A separate file system, so that the source of a mount differs from the path of its folder. */
const MOUNTED = "/dev/shm";
const skipMounted =
  (!existsSync(MOUNTED) && `there is no ${MOUNTED}`) ||
  (spawnSync("unshare", ["--map-root-user", "--mount", "true"]).status !== 0 && "this process cannot mount");

it(
  "a guest of an ended service is killed by its mounts, also if the folder is below a mount of the machine",
  { skip: skipMounted },
  async (t) => {
    const parent = await mkdtemp(path.join(MOUNTED, "caisson-stale-"));
    t.after(() => rm(parent, { recursive: true, force: true }));
    const folder = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
    const mounts = "mount --bind program/guest /mnt && cd / && echo mounted && read waits";
    const child = spawn("unshare", ["--map-root-user", "--mount", "sh", "-c", mounts], {
      cwd: folder,
      stdio: ["pipe", "pipe", "inherit"],
    });
    t.after(() => child.kill("SIGKILL"));
    const exited = once(child, "exit");
    await once(child.stdout, "data");
    await removeStaleFolders(parent, PREFIX);
    child.stdin.end();
    assert.deepEqual(await exited, [null, "SIGKILL"]);
  },
);

it("the folder of an ended service is removed even if another process has its id", async (t) => {
  const parent = await makeFolder(t);
  const [own, other] = await Promise.all(
    [`${processTag(PREFIX)}x`, `${PREFIX}${process.pid}-1-x`].map((name) => runFolder(parent, name)),
  );
  await removeStaleFolders(parent, PREFIX);
  assert.deepEqual([existsSync(own!), existsSync(other!)], [true, false]);
});

it("the folder and the processes of a running service are kept", async (t) => {
  const parent = await makeFolder(t);
  const names = [`${processTag(PREFIX)}x`, `${processTag(PREFIX)}y`];
  const folders = await Promise.all(names.map((name) => runFolder(parent, name)));
  const children = folders.map((folder) => userOf(t, folder));
  await Promise.all(children.map((child) => once(child, "spawn")));
  // The removal of another, stale folder shows that the function has checked these folders.
  const dead = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
  await removeStaleFolders(parent, PREFIX);
  assert.equal(existsSync(dead), false);
  assert.ok(folders.every((folder) => existsSync(folder)));
  for (const child of children) assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
});

it("a process is not killed if a stale folder is only a prefix of a path in its command line", async (t) => {
  const parent = await makeFolder(t);
  const folder = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
  const child = userOf(t, `${folder}yz`);
  await once(child, "spawn");
  await removeStaleFolders(parent, PREFIX);
  assert.equal(existsSync(folder), false);
  assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
});

it("folders with other names are kept", async (t) => {
  const parent = await makeFolder(t);
  const pid = await deadPid();
  const names = [
    `other-${pid}-x`,
    `x${PREFIX}${pid}-x`,
    PREFIX,
    `${PREFIX}none`,
    `${PREFIX}${pid}-x`,
    `${processTag(PREFIX)}x`,
  ];
  for (const name of names) {
    await mkdir(path.join(parent, name));
    assert.equal(isStaleTag(name, PREFIX), false, name);
  }
  assert.equal(isStaleTag(`${PREFIX}${pid}-1-x`, PREFIX), true);
  await removeStaleFolders(parent, PREFIX);
  for (const name of names) assert.ok(existsSync(path.join(parent, name)), name);
});

it("a folder of another user with a stale name is kept", { skip: process.getuid?.() !== 0 }, async (t) => {
  const parent = await makeFolder(t);
  const folder = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
  chownSync(folder, 65_534, 65_534);
  const child = userOf(t, folder);
  await once(child, "spawn");
  await removeStaleFolders(parent, PREFIX);
  assert.ok(existsSync(folder));
  assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
});

/** Removes stale folders like a service in another container that shares the temporary folder, in another PID namespace. */
async function removeFromElsewhere(parent: string): Promise<void> {
  const module = path.join(import.meta.dirname, "../../../src/sandbox/temp/stale-folders.ts");
  const code = `import { removeStaleFolders } from ${JSON.stringify(module)};
    await removeStaleFolders(${JSON.stringify(parent)}, ${JSON.stringify(PREFIX)});`;
  const args = [...ELSEWHERE, process.execPath, "--input-type=module", "--eval", code];
  const child = spawn("unshare", args, { stdio: ["ignore", "ignore", "inherit"] });
  assert.deepEqual(await once(child, "exit"), [0, null]);
}

const ELSEWHERE = [
  ...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"]),
  ...["--pid", "--fork", "--mount", "--mount-proc"],
];
const skipElsewhere =
  spawnSync("unshare", [...ELSEWHERE, "true"]).status !== 0 && "this process cannot create a PID namespace";

it(
  "the folder of a service in another PID namespace is kept until the service ends",
  { skip: skipElsewhere },
  async (t) => {
    const parent = await makeFolder(t);
    // A long path, because the path of a socket may be longer than the maximum of unix(7).
    const folder = await runFolder(parent, `${processTag(PREFIX)}${"x".repeat(60)}`);
    const liveness = await showLiveness(folder);
    await age(folder);
    const dead = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
    await removeFromElsewhere(parent);
    assert.deepEqual([existsSync(folder), existsSync(dead)], [true, false]);
    await liveness.end();
    await age(folder);
    await removeFromElsewhere(parent);
    assert.equal(existsSync(folder), false);
  },
);

it(
  "a new folder of a service in another PID namespace is kept before the service has created its socket",
  { skip: skipElsewhere },
  async (t) => {
    const parent = await makeFolder(t);
    const folder = path.join(parent, `${processTag(PREFIX)}x`);
    await mkdir(folder);
    await removeFromElsewhere(parent);
    assert.ok(existsSync(folder));
  },
);

it("the new folder of a killed service is removed without waiting", async (t) => {
  const parent = await makeFolder(t);
  const module = path.join(import.meta.dirname, "../../../src/sandbox/temp");
  const code = `import { mkdirSync } from "node:fs"; import { showLiveness } from "${module}/liveness.ts"; import { processTag } from "${module}/process-tag.ts";
    const folder = ${JSON.stringify(parent)} + "/" + processTag(${JSON.stringify(PREFIX)}) + "x"; mkdirSync(folder); await showLiveness(folder);
    console.log("shown"); setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.equal((await readdir(parent)).length, 1);
  await removeStaleFolders(parent, PREFIX);
  assert.deepEqual(await readdir(parent), []);
});
