import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { after, before, it } from "node:test";

import { buildSync } from "esbuild";

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

it("the name of a run folder has the id of its process, so that a later start can detect a stale folder", () => {
  assert.ok(path.basename(folder.path).startsWith(`${RUN_FOLDER}${process.pid}-`));
});

it("the program folder has JavaScript that parses and imports no file, its code cache, and the seal", () => {
  const files = readdirSync(folder.program, { recursive: true, encoding: "utf8" }).filter((name) => !isFolder(name));
  assert.ok(files.includes("guest/main.js"));
  assert.deepEqual(
    files.filter((name) => !/\.js$|package\.json$/.test(name)),
    [CACHE, SEAL],
  );
  for (const name of files.filter((each) => each.endsWith(".js"))) {
    const file = path.join(folder.program, name);
    assert.equal(spawnSync(process.execPath, ["--check", file]).status, 0, name);
    // Texts of hints contain imports, so a pattern would find these. A file that imports another one has two inputs.
    const options = { bundle: true, write: false, metafile: true, platform: "node", logLevel: "silent" } as const;
    const { metafile } = buildSync({ ...options, entryPoints: [file] });
    assert.equal(Object.keys(metafile.inputs).length, 1, name);
  }
});

it("V8 accepts the code cache for the program under the flags of a guest, and rejects it for a changed program", () => {
  const script = `
    const { Script } = require("node:vm");
    const { readFileSync } = require("node:fs");
    const text = readFileSync(${JSON.stringify(path.join(folder.program, "guest/program.js"))}, "latin1");
    const cachedData = readFileSync(${JSON.stringify(path.join(folder.program, CACHE))});
    const rejected = [text, text + " "].map((each) => new Script(each, { cachedData }).cachedDataRejected);
    console.log(rejected.join());`;
  const args = guestArguments("-", SANDBOX_OPTIONS);
  assert.equal(execFileSync(folder.node, args, { input: script, encoding: "utf8", env: {} }), "false,true\n");
});

it("every user of the host may read the files that guests are started from, but not write to them", () => {
  for (const name of [folder.path, folder.program, path.join(folder.program, "guest/main.js"), folder.node]) {
    const { mode } = statSync(name);
    assert.equal(mode & 0o004, 0o004, name);
    assert.equal(mode & 0o022, 0, name);
  }
});

it("a user without privileges can run the Node of the guests", { skip: process.getuid?.() !== 0 }, () => {
  const version = execFileSync(folder.node, ["--version"], { uid: 65_534, gid: 65_534, cwd: "/", encoding: "utf8" });
  assert.equal(version.trim(), process.version);
});

it("remove deletes a run folder with its content, and can be called again", async () => {
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

it("a guest's user can read all files even if the service was started with a strict umask", async (t) => {
  const previous = process.umask(0o077);
  t.after(() => process.umask(previous));
  const strict = await prepareRunFolder();
  t.after(() => strict.remove());
  for (const name of ["", ...readdirSync(strict.program, { recursive: true, encoding: "utf8" })]) {
    const { mode } = statSync(path.join(strict.program, name));
    assert.equal(mode & 0o004, 0o004, name);
  }
});
