import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { command, type Ended } from "../cli/command.ts";
import { containerRecord } from "../contract/record.ts";
import { type Home, makeHome, NO_WALL, type Service, startService } from "../contract/service.ts";
import { missing, startRedis } from "../redis/server.ts";

const FLAGS = [...NO_WALL, "--container-limit", "month=9"];
const ROOT = path.join(import.meta.dirname, "../..");
const CAISSON = `${ROOT}/scripts/node ${ROOT}/dist/main.js`;
const isRoot = process.getuid!() === 0;
const noRoot = isRoot ? false : "only root can do this";
const noRedis = await missing("redis-server");

function backup(home: Home, to: string): Promise<Ended> {
  return command(["backup", "--data", home.data, "--to", to]);
}

function namesIn(tar: string): string[] {
  return execFileSync("tar", ["-tf", tar], { encoding: "utf8" }).trim().split("\n");
}

/** A data folder whose service is stopped. */
let used: Home;
before(async () => {
  used = await makeHome();
  const service = await startService(FLAGS, used);
  await service.issue({ containers: ["demo"] });
  await service.stop();
});
after(() => used[Symbol.asyncDispose]());

/** Returns the folder of the history of a service whose data folder is closed to its user. */
function outsideOf(service: Service): string {
  return /usage and audit are in (\/var\/lib\/caisson\/[0-9a-f]{16}),/.exec(service.stderr())![1]!;
}

describe("a backup", () => {
  it(
    "of a service below a folder of root has everything, while it runs and when it is stopped",
    { skip: noRoot },
    async () => {
      const closed = await mkdtemp(path.join(tmpdir(), "caisson-closed-"));
      await chmod(closed, 0o700);
      await using open = await makeHome();
      const home = { ...open, data: path.join(closed, "data") };
      const outside: string[] = [];
      try {
        const service = await startService(FLAGS, home);
        outside.push(outsideOf(service));
        await service.issue({ containers: ["demo"] });
        await service.run("demo", "1");
        const [running, stopped] = ["running.tar", "stopped.tar"].map((name) => path.join(closed, name)) as [
          string,
          string,
        ];
        const first = await backup(home, running);
        assert.deepEqual([first.code, first.stderr], [0, ""]);
        assert.ok(!(await readdir(outside[0]!)).includes("backup.unfinished"));
        await service.stop();
        const second = await backup(home, stopped);
        assert.deepEqual([second.code, second.stderr], [0, ""]);
        for (const tar of [running, stopped]) {
          const names = namesIn(tar);
          for (const name of ["tokens.sqlite", "limits/journal-1", "audit.sqlite"])
            assert.ok(names.includes(name), name);
          assert.equal((await stat(tar)).uid, 0);
        }
        const other = { ...open, data: path.join(closed, "restored") };
        const restored = await command(["restore", "--from", stopped, "--data", other.data]);
        assert.deepEqual([restored.code, restored.stderr], [0, ""]);
        const again = await startService(FLAGS, other);
        outside.push(outsideOf(again));
        assert.equal((await containerRecord(again, "demo")).month, 8);
        assert.match((await again.request("GET", "/api/audit")).text, /token issued/);
        await again.stop();
      } finally {
        for (const folder of [closed, ...outside]) await rm(folder, { recursive: true });
      }
    },
  );

  it("goes through pipes, from a data folder whose path is longer than a socket's may be", async () => {
    await using short = await makeHome();
    const home = { ...short, data: path.join(path.dirname(short.data), "long".repeat(30), "data") };
    await mkdir(path.dirname(home.data));
    const service = await startService(FLAGS, home);
    await service.run("demo", "1");
    const to = path.join(path.dirname(short.data), "restored");
    const pipe = `${CAISSON} backup --data ${home.data} --to - | ${CAISSON} restore --from - --data ${to}`;
    const { stdout, stderr, status } = spawnSync("bash", ["-o", "pipefail", "-c", pipe], { encoding: "utf8" });
    await service.stop();
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^restored the backup of .*\n$/);
    assert.match(stderr, /^backed up the running service of \/.+: \d+ files, [\d.]+ MiB, in stdout\n$/);
    assert.ok((await readdir(to)).includes("tokens.sqlite"));
  });

  it("leaves nothing on a disk that is full, and neither does a restore", { skip: noRoot }, async () => {
    const disk = path.join(path.dirname(used.data), "disk");
    await mkdir(disk);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", disk]);
    try {
      const full = await backup(used, path.join(disk, "backup.tar"));
      assert.equal(full.code, 4);
      assert.match(full.stderr, /ENOSPC/);
      assert.deepEqual(await readdir(disk), []);
      const tar = path.join(path.dirname(used.data), "backup.tar");
      assert.equal((await backup(used, tar)).code, 0);
      const restored = await command(["restore", "--from", tar, "--data", disk]);
      assert.equal(restored.code, 4);
      assert.match(restored.stderr, /ENOSPC/);
      assert.deepEqual(await readdir(disk), ["lock"]);
    } finally {
      execFileSync("umount", [disk]);
    }
  });

  it("leaves out damaged history with a warning, and not the rest", async () => {
    await writeFile(path.join(used.data, "audit.sqlite"), "no database".repeat(1_000));
    const tar = path.join(path.dirname(used.data), "b.tar");
    const { code, stderr } = await backup(used, tar);
    assert.equal(code, 0);
    assert.match(stderr, /^caisson: audit\.sqlite is damaged \(file is not a database\) and not in the backup$/m);
    assert.ok(!namesIn(tar).includes("audit.sqlite") && namesIn(tar).includes("tokens.sqlite"));
  });

  it(
    "of a node on Redis has its keys, and reports that the counts and tokens are in Redis",
    { skip: noRedis },
    async () => {
      await using redis = await startRedis();
      await using home = await makeHome();
      await using other = await makeHome();
      const shared = path.join(path.dirname(other.data), "shared");
      await mkdir(shared, { mode: 0o755 });
      const flags = [...FLAGS, "--redis", redis.url];
      const first = await startService(flags, home);
      const token = await first.issue({ containers: ["demo"], limits: { container: { day: 7 } } });
      await first.run("demo", "1", { token });
      await first.stop();
      // Keys that are elsewhere, as nodes share them.
      for (const name of ["keys.json", "secrets.key"]) {
        await copyFile(path.join(home.data, name), path.join(shared, name));
        await rm(path.join(home.data, name));
        if (isRoot) execFileSync("chown", ["--reference", home.data, path.join(shared, name)]);
      }
      const places = ["--keys", path.join(shared, "keys.json"), "--secrets-key", path.join(shared, "secrets.key")];
      const node = await startService([...flags, ...places], home);
      const tar = path.join(path.dirname(home.data), "b.tar");
      const { code, stdout } = await backup(home, tar);
      assert.equal(code, 0);
      assert.match(stdout, /with --redis the counts, tokens, secrets, policies and named tasks are in Redis/);
      assert.deepEqual(
        namesIn(tar).filter((name) => !/^(?:runs\/|audit)/.test(name)),
        ["backup.json", "packages.sqlite", "keys.json", "secrets.key", "admin.token", "SHA256SUMS"],
      );
      await node.stop();
      assert.equal((await command(["restore", "--from", tar, "--data", other.data])).code, 0);
      const again = await startService(flags, other);
      assert.equal((await containerRecord(again, "demo", token)).day, 6);
      await again.stop();
    },
  );
});
