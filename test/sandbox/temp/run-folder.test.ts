import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { after, before, it } from "node:test";

import { SEAL } from "../../../src/sandbox/plan/seal.ts";
import { guestArguments } from "../../../src/sandbox/program/guest-program.ts";
import { CACHE } from "../../../src/sandbox/program/make-program.ts";
import { prepareRunFolder, RUN_FOLDER, type RunFolder } from "../../../src/sandbox/temp/run-folder.ts";
import { SANDBOX_OPTIONS } from "../../suites/sandbox.ts";

let folder: RunFolder;

before(async () => {
  folder = await prepareRunFolder();
});
after(() => folder.remove());

it("a run folder names the process whose it is, so that a later start knows when it is left", () => {
  assert.ok(path.basename(folder.path).startsWith(`${RUN_FOLDER}${process.pid}-`));
});

it("the program is JavaScript that parses and imports no file, beside its code cache and the seal", () => {
  const files = readdirSync(folder.program, { recursive: true, encoding: "utf8" }).filter((name) => !isFolder(name));
  assert.ok(files.includes("guest/main.js"));
  assert.deepEqual(
    files.filter((name) => !/\.js$|package\.json$/.test(name)),
    [CACHE, SEAL],
  );
  for (const name of files.filter((each) => each.endsWith(".js"))) {
    const file = path.join(folder.program, name);
    assert.equal(spawnSync(process.execPath, ["--check", file]).status, 0, name);
    assert.doesNotMatch(readFileSync(file, "utf8"), /^import\b|\bfrom "\./m, name);
  }
});

it("V8 takes what it is given of the program as compiled, under the flags of a guest, and of a longer text it does not", () => {
  const script = `
    const { Script } = require("node:vm");
    const { readFileSync } = require("node:fs");
    const text = readFileSync(${JSON.stringify(path.join(folder.program, "guest/program.js"))}, "latin1");
    const cachedData = readFileSync(${JSON.stringify(path.join(folder.program, CACHE))});
    const rejected = [text, text + " "].map((each) => new Script(each, { cachedData }).cachedDataRejected);
    console.log(rejected.join());`;
  const words = guestArguments("-", SANDBOX_OPTIONS);
  assert.equal(execFileSync(folder.node, words, { input: script, encoding: "utf8", env: {} }), "false,true\n");
});

it("any user of the host may read what a guest is started from, and write none of it", () => {
  for (const name of [folder.path, folder.program, path.join(folder.program, "guest/main.js"), folder.node]) {
    const { mode } = statSync(name);
    assert.equal(mode & 0o004, 0o004, name);
    assert.equal(mode & 0o022, 0, name);
  }
});

it("a user that is nobody can run the Node of the guests", { skip: process.getuid?.() !== 0 }, () => {
  const version = execFileSync(folder.node, ["--version"], { uid: 65_534, gid: 65_534, cwd: "/", encoding: "utf8" });
  assert.equal(version.trim(), process.version);
});

it("a folder that is removed is gone with all that is in it, and can be removed again", async () => {
  const other = await prepareRunFolder();
  assert.notEqual(other.path, folder.path);
  await other.remove();
  assert.equal(existsSync(other.path), false);
  await other.remove();
  assert.ok(existsSync(folder.program));
});

function isFolder(name: string): boolean {
  return statSync(path.join(folder.program, name)).isDirectory();
}

it("a guest's user can read all of it, whatever umask the service was started with", async (t) => {
  const usual = process.umask(0o077);
  t.after(() => process.umask(usual));
  const strict = await prepareRunFolder();
  t.after(() => strict.remove());
  for (const name of ["", ...readdirSync(strict.program, { recursive: true, encoding: "utf8" })]) {
    const { mode } = statSync(path.join(strict.program, name));
    assert.equal(mode & 0o004, 0o004, name);
  }
});
