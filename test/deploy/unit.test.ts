import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it } from "node:test";

import { missing } from "../redis/server.ts";

const UNIT = readFileSync(path.join(import.meta.dirname, "../../deploy/caisson.service"), "utf8");

/** The commands in the comment of the unit, without their remarks. */
const commands = UNIT.split("\n")
  .filter((line) => line.startsWith("#   "))
  .map((line) => line.slice(4).replace(/ {2,}#.*$/, ""));

it("the recipe of the unit copies a checkout without its data", async () => {
  await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-unit-"));
  const [checkout, installed] = ["checkout", "installed"].map((name) => path.join(folder.path, name));
  for (const name of ["data", ".git", "src/data"]) {
    mkdirSync(path.join(checkout!, name), { recursive: true });
    writeFileSync(path.join(checkout!, name, "file"), "x");
  }
  const copy = commands.find((line) => line.includes("tar"))!;
  execFileSync("sh", ["-euc", copy.replaceAll("/opt/caisson", installed!)], { cwd: checkout! });
  assert.deepEqual(readdirSync(installed!), ["src"]);
  assert.deepEqual(readdirSync(path.join(installed!, "src/data")), ["file"]);
});

it("the recipe of the unit examines the machine as the user of the service", () => {
  const user = /^User=(\w+)$/m.exec(UNIT)![1]!;
  const program = /^ExecStart=\/opt\/caisson\/(.*) serve$/m.exec(UNIT)![1]!;
  assert.ok(commands.includes(`runuser -u ${user} -- ${program} doctor`), commands.join("\n"));
});

it("systemd finds no fault in the unit", { skip: await missing("systemd-analyze") }, async () => {
  await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-unit-"));
  const file = path.join(folder.path, "caisson.service");
  // It checks that the program exists, which is installed by the recipe.
  writeFileSync(file, UNIT.replaceAll("/opt/caisson", path.join(import.meta.dirname, "../..")));
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
  assert.deepEqual([status, stdout, stderr], [0, "", ""]);
});
