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
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-leftovers-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A run folder of a service, with a file in it. */
async function runFolder(parent: string, name: string): Promise<string> {
  const folder = path.join(parent, name);
  await mkdir(path.join(folder, "program/guest"), { recursive: true });
  await writeFile(path.join(folder, "program/guest/main.js"), "");
  await age(folder);
  return folder;
}

/** Makes it older than the moment in which a folder has not yet shown that its service is alive. */
async function age(folder: string): Promise<void> {
  const before = Date.now() / 1_000 - 3_600;
  await utimes(folder, before, before);
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
  await removeStaleFolders(parent, PREFIX);
  const [, signal] = (await exited) as [number | null, string | null];
  assert.equal(signal, "SIGKILL");
  assert.equal(existsSync(folder), false);
});

it("the folder of a service whose id another process has by now is removed", async (t) => {
  const parent = await makeFolder(t);
  const [own, other] = await Promise.all(
    [`${processTag(PREFIX)}x`, `${PREFIX}${process.pid}-1-x`].map((name) => runFolder(parent, name)),
  );
  await removeStaleFolders(parent, PREFIX);
  assert.deepEqual([existsSync(own!), existsSync(other!)], [true, false]);
});

it("the folder of a service that lives is kept, and so are its processes", async (t) => {
  const parent = await makeFolder(t);
  const names = [`${processTag(PREFIX)}x`, `${processTag(PREFIX)}y`];
  const folders = await Promise.all(names.map((name) => runFolder(parent, name)));
  const children = folders.map((folder) => userOf(t, folder));
  await Promise.all(children.map((child) => once(child, "spawn")));
  // One that is dead beside them shows that the sweep has come by.
  const dead = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
  await removeStaleFolders(parent, PREFIX);
  assert.equal(existsSync(dead), false);
  assert.ok(folders.every((folder) => existsSync(folder)));
  for (const child of children) assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
});

it("a process whose command line only begins like a dead service's folder is let live", async (t) => {
  const parent = await makeFolder(t);
  const folder = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
  const child = userOf(t, `${folder}yz`);
  await once(child, "spawn");
  await removeStaleFolders(parent, PREFIX);
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

it(
  "a folder that a stranger has made under such a name is not touched",
  { skip: process.getuid?.() !== 0 },
  async (t) => {
    const parent = await makeFolder(t);
    const folder = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
    chownSync(folder, 65_534, 65_534);
    const child = userOf(t, folder);
    await once(child, "spawn");
    await removeStaleFolders(parent, PREFIX);
    assert.ok(existsSync(folder));
    assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
  },
);

/** Sweeps as a service in another container does that shares the temporary folder: by its own numbers of processes. */
async function removeFromElsewhere(parent: string): Promise<void> {
  const module = path.join(import.meta.dirname, "../../../src/sandbox/temp/stale-folders.ts");
  const code = `import { removeStaleFolders } from ${JSON.stringify(module)};
    await removeStaleFolders(${JSON.stringify(parent)}, ${JSON.stringify(PREFIX)});`;
  const words = [...ELSEWHERE, process.execPath, "--input-type=module", "--eval", code];
  const child = spawn("unshare", words, { stdio: ["ignore", "ignore", "inherit"] });
  assert.deepEqual(await once(child, "exit"), [0, null]);
}

const ELSEWHERE = [
  ...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"]),
  ...["--pid", "--fork", "--mount", "--mount-proc"],
];
const cannotGo = spawnSync("unshare", [...ELSEWHERE, "true"]).status !== 0 && "no PID namespace can be made here";

it(
  "the folder of a service that lives in another PID namespace is kept, until it lives no more",
  { skip: cannotGo },
  async (t) => {
    const parent = await makeFolder(t);
    // As long as a path may be whose socket must be found all the same.
    const folder = await runFolder(parent, `${processTag(PREFIX)}${"x".repeat(60)}`);
    const life = await showLiveness(folder);
    await age(folder);
    const dead = await runFolder(parent, `${PREFIX}${await deadPid()}-1-x`);
    await removeFromElsewhere(parent);
    assert.deepEqual([existsSync(folder), existsSync(dead)], [true, false]);
    await life.end();
    await age(folder);
    await removeFromElsewhere(parent);
    assert.equal(existsSync(folder), false);
  },
);

it(
  "what has just been made in another PID namespace is kept, though it has not shown that it lives",
  { skip: cannotGo },
  async (t) => {
    const parent = await makeFolder(t);
    const folder = path.join(parent, `${processTag(PREFIX)}x`);
    await mkdir(folder);
    await removeFromElsewhere(parent);
    assert.ok(existsSync(folder));
  },
);

it("the folder of a service that was killed is removed at once, also when it is new", async (t) => {
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
