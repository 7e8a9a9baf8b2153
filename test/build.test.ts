import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it } from "node:test";

const ROOT = path.join(import.meta.dirname, "..");

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
  for (const name of ["main", "launcher-process", "disk-check-thread", "writer-thread", "reader-thread"]) {
    assert.ok(names.includes(`${name}.js`), name);
  }
  makeOld();
  build();
  assert.ok(isOld());

  writeFileSync(
    path.join(folder.path, "src/cli/program.ts"),
    'export const program = () => ({ parseAsync: () => console.log("changed") });',
  );
  build();
  assert.ok(!isOld());
  const { stdout } = spawnSync(process.execPath, [path.join(dist, "main.js")], { encoding: "utf8" });
  assert.equal(stdout, "changed\n");
  // Chunks of the build before are gone.
  const imported = readdirSync(dist).filter((name) => name.startsWith("service-"));
  assert.deepEqual(imported, []);

  makeOld();
  const { mtimeMs } = statSync(path.join(dist, "built"));
  utimesSync(path.join(dist, "built"), 0, 0);
  build();
  assert.ok(!isOld() && statSync(path.join(dist, "built")).mtimeMs >= mtimeMs);
  assert.equal(readFileSync(path.join(dist, "package.json"), "utf8"), '{ "type": "module" }\n');
});
