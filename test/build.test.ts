import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, globSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it } from "node:test";

const ROOT = path.join(import.meta.dirname, "..");
/** Gives up root at the end, before the compiled code is kept, as the doctor does. */
const GIVES_UP_ROOT = '--import=data:text/javascript,process.once("exit",()=>process.seteuid(65534))';

it("a build is made once, and again when a source is newer or when it was interrupted", async () => {
  await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-build-"));
  for (const name of ["src", "client/src", "package.json", "package-lock.json", "scripts/build.ts"]) {
    cpSync(path.join(ROOT, name), path.join(folder.path, name), { recursive: true });
  }
  symlinkSync(path.join(ROOT, "node_modules"), path.join(folder.path, "node_modules"));
  const dist = path.join(folder.path, "dist");
  const build = (): void => {
    const words = ["--disable-warning=ExperimentalWarning", path.join(folder.path, "scripts/build.ts")];
    const { status, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
    assert.deepEqual([status, stderr], [0, ""]);
  };
  const isOld = (): boolean => statSync(path.join(dist, "main.js")).mtimeMs === 0;
  const makeOld = (): void => utimesSync(path.join(dist, "main.js"), 0, 0);

  build();
  const names = readdirSync(dist);
  const programs = ["main", "program", "launcher-process", "launcher-program", "program-text"];
  for (const name of [...programs, "disk-check-thread", "writer-thread", "reader-thread", "schema-thread"]) {
    assert.ok(names.includes(`${name}.js`), name);
  }
  for (const name of ["main", "program", "worker"]) assert.ok(names.includes(`guest-${name}.txt`), name);
  keepsCompiledCode(dist, path.join(folder.path, "copy"));
  makeOld();
  build();
  assert.ok(isOld());

  writeFileSync(
    path.join(folder.path, "src/cli/program.ts"),
    'export const program = () => ({ parseAsync: () => console.log("changed") });',
  );
  writeFileSync(path.join(dist, "chunk-of-a-build-before.js"), "");
  build();
  assert.ok(!isOld());
  const { stdout } = spawnSync(process.execPath, [path.join(dist, "main.js")], { encoding: "utf8" });
  assert.equal(stdout, "changed\n");
  assert.deepEqual(readdirSync(dist).toSorted(), names.toSorted());

  makeOld();
  const { mtimeMs } = statSync(path.join(dist, "built"));
  utimesSync(path.join(dist, "built"), 0, 0);
  build();
  assert.ok(!isOld() && statSync(path.join(dist, "built")).mtimeMs >= mtimeMs);
  assert.equal(readFileSync(path.join(dist, "package.json"), "utf8"), '{ "type": "module" }\n');
});

/** Checks that a start keeps the compiled code of its program, that the next start uses it, and that another program does not. */
function keepsCompiledCode(built: string, copy: string): void {
  const dist = path.join(copy, "dist");
  cpSync(built, dist, { recursive: true });
  const start = (...options: readonly string[]): string[] => {
    const words = [...options, path.join(dist, "main.js"), "--version"];
    // Without the cache of the tests.
    const { status, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", env: {} });
    assert.deepEqual([status, stderr], [0, ""]);
    return globSync("node_modules/.cache/caisson/*/command/*", { cwd: copy });
  };
  // The temporary folder is private, so a process without root finds nothing in it. It ends as it would have ended.
  if (process.getuid?.() === 0) assert.deepEqual(start(GIVES_UP_ROOT), []);
  const inodeOf = (file: string): number => statSync(path.join(copy, file)).ino;
  const [file, ...others] = start();
  assert.deepEqual(others, []);
  const inode = inodeOf(file!);
  assert.deepEqual(start(), [file]);
  // A start that cannot use the code writes it again.
  assert.equal(inodeOf(file!), inode);

  writeFileSync(path.join(copy, file!), readFileSync(path.join(copy, file!)).subarray(0, 1_000));
  start();
  assert.notEqual(inodeOf(file!), inode);

  const program = path.join(dist, "program.js");
  writeFileSync(program, readFileSync(program, "utf8").replace(/[0-9a-f]{64}/, "0".repeat(64)));
  const [other, ...older] = start();
  assert.deepEqual([path.basename(other!), older], ["0".repeat(64), []]);
}
