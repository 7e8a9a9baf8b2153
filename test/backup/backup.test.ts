import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { command, type Ended } from "../cli/command.ts";
import { containerRecord, jtiOf, tokenRecord } from "../contract/record.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "../contract/service.ts";
import { until } from "../contract/until.ts";

const FREE = 1_000_000;
const CALLERS = 4;
const FLAGS = [...NO_WALL, "--container-limit", `month=${FREE}`, "--token-limit", `month=${FREE}`];
const SECRET = "a secret of a token";

let home: Home;
let restored: Home;
let service: Service;
/** The folder of the files that the tests write. */
let files: string;
let tar: string;
let token: string;
let revoked: string;
/** A token that was issued after the backup. */
let late: string;

/** Runs that were answered. */
let answered = 0;
/** Runs that were sent. */
let sent = 0;
/** The runs that were answered before the backup began. */
let counted: number;
let failedRun: string;

function backup(...args: string[]): Promise<Ended> {
  return command(["backup", "--data", home.data, ...args]);
}

function restore(from: string, data: string): Promise<Ended> {
  return command(["restore", "--from", from, "--data", data]);
}

/** Sends runs until the service is gone. */
async function call(): Promise<void> {
  for (;;) {
    sent++;
    const answer = await service.run("load", "1", { token }).catch(() => null);
    if (answer?.status !== 200) return;
    answered++;
  }
}

before(async () => {
  [home, restored] = [await makeHome(), await makeHome()];
  files = path.dirname(home.data);
  tar = path.join(files, "backup.tar");
  service = await startService(FLAGS, home);
  token = await service.issue({ containers: ["load"], labels: { team: "a" } });
  revoked = await service.issue({ containers: ["load"] });
  await service.request("DELETE", `/api/tokens/${jtiOf(revoked)}`);
  const suspended = await service.request("POST", "/api/containers/paused/suspend");
  assert.equal(suspended.status, 200, suspended.text);
  const task = { code: "(context) => context.secrets.key", secrets: { key: SECRET }, public: true };
  const put = await service.request("PUT", "/api/tasks/load/shows", { json: task });
  assert.equal(put.status, 201, put.text);
  failedRun = (await service.run("load", "throw new Error('kept')")).headers["caisson-run"]!;
  // Until the record is on the disk: the container's runs of an earlier process come from there.
  const namesOf = (): Promise<string[]> => readdir(path.join(home.data, "runs")).catch(() => []);
  await until(async () => (await namesOf()).some(isDay), "the day has a file");
});
after(async () => {
  await leave(service, home);
  await restored[Symbol.asyncDispose]();
});

function isDay(name: string): boolean {
  return /^\d{4}-\d\d-\d\d\.sqlite$/.test(name);
}

describe("a backup of a service under load", () => {
  it("is one file that only its owner can read, which tar and sha256sum accept", async () => {
    const callers = Array.from({ length: CALLERS }, call);
    await until(() => answered > 50, "runs are answered");
    counted = answered;
    const { code, stdout, stderr } = await backup("--to", tar);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^backed up the running service of \/.+: \d+ files, [\d.]+ MiB, in \/.*backup\.tar\n$/);
    late = await service.issue({ containers: ["load"] });
    const whileLoaded = answered;
    await until(() => answered > whileLoaded + 20, "runs are answered after the backup");
    await service.kill9();
    await Promise.all(callers);
    assert.equal((await stat(tar)).mode & 0o777, 0o600);
    const unpacked = path.join(files, "unpacked");
    await mkdir(unpacked);
    execFileSync("tar", ["-xf", tar, "-C", unpacked]);
    const sums = execFileSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: unpacked, encoding: "utf8" });
    for (const name of [
      "tokens.sqlite",
      "secrets.sqlite",
      "tasks.sqlite",
      "policies.sqlite",
      "packages.sqlite",
      "keys.json",
    ])
      assert.match(sums, new RegExp(`^${name}: OK$`, "m"));
    assert.deepEqual((await readdir(files)).toSorted(), ["backup.tar", "data", "tmp", "unpacked"]);
  });

  it("restores after kill -9 every run that was counted before the backup began", async () => {
    const { code, stdout, stderr } = await restore(tar, restored.data);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^restored the backup of \d{4}-.*Z, made by caisson \d+\.\d+\.\d+, into \/.*\n$/);
    assert.equal((await stat(restored.data)).mode & 0o777, 0o700);
    for (const name of await readdir(restored.data, { recursive: true })) {
      const found = await stat(path.join(restored.data, name));
      assert.equal(found.mode & 0o777, found.isDirectory() ? 0o700 : 0o600, name);
    }
    // A service that was killed during a backup leaves its copies.
    const copies = path.join(restored.data, "backup.unfinished");
    await mkdir(copies);
    service = await startService(FLAGS, restored);
    await assert.rejects(stat(copies), { code: "ENOENT" });
    for (const record of [await containerRecord(service, "load", token), await tokenRecord(service, token)]) {
      const used = FREE - record.month;
      // The run of the setup counts for the container only.
      assert.ok(used >= counted && used <= sent + 1, `${used} counted, ${counted} before the backup, ${sent} in all`);
    }
  });

  it("restores tokens, revocations, policies, tasks with their secrets, records, usage and the audit", async () => {
    const old = (await readFile(path.join(home.data, "admin.token"), "utf8")).trim();
    assert.equal(service.admin, old);
    assert.equal((await service.run("load", "6 * 7", { token })).text, "42");
    assert.equal((await service.run("load", "6 * 7", { token: late })).text, "42");
    const ended = await service.run("load", "1", { token: revoked });
    assert.match(ended.text, /revoked/);
    const paused = await service.run("paused", "1");
    assert.match(paused.text, /suspended/);
    const task = await service.request("POST", "/api/run/load/shows");
    assert.equal(task.text, JSON.stringify(SECRET));
    const record = await service.request("GET", `/api/runs/load/${failedRun}`);
    assert.match(record.text, /kept/);
    assert.match((await service.request("GET", "/api/usage?by=container")).text, /"load"/);
    assert.match((await service.request("GET", "/api/audit")).text, /token revoked/);
  });

  it("is refused to a second command, and to a service that runs in the folder", async () => {
    const running = await restore(tar, restored.data);
    assert.equal(running.code, 2);
    assert.match(running.stderr, /is in use by another service; stop that service/);
    const used = await restore(tar, home.data);
    assert.equal(used.code, 2);
    assert.match(used.stderr, /--data: \/.* is not empty \(admin\.token, .*\); restore into a new or empty folder/);
  });

  it("ends with the command, leaves no copy, and refuses a second one at a time", async () => {
    const socket = path.join(restored.data, "backup.sock");
    assert.equal((await stat(socket)).mode & 0o777, 0o600);
    const first = connect(socket);
    first.write('{"withoutRecords":false}\n');
    // It is not read further, so the backup does not end.
    await once(first, "readable");
    const second = connect(socket);
    second.setEncoding("utf8").write('{"withoutRecords":false}\n');
    const [answer] = (await once(second, "data")) as [string];
    first.destroy();
    second.destroy();
    // The first one may have been small enough to be sent at once.
    assert.match(answer, /^\{"(?:error":"another backup is running|part":"backup\.json)"/);
    const to = path.join(files, "again.tar");
    await until(async () => (await command(["backup", "--data", restored.data, "--to", to])).code === 0, "it succeeds");
    const left = await readdir(restored.data);
    assert.ok(!left.includes("backup.unfinished"), left.join(", "));
  });

  it("is made though many connections ask for nothing", async () => {
    const idle = Array.from({ length: 30 }, () => connect(path.join(restored.data, "backup.sock")));
    await Promise.all(
      idle.map((socket) =>
        once(
          socket.on("error", () => {}),
          "connect",
        ),
      ),
    );
    const made = await command(["backup", "--data", restored.data, "--to", path.join(files, "idle.tar")]);
    assert.deepEqual([made.code, made.stderr], [0, ""]);
    for (const socket of idle) socket.destroy();
  });

  it("can leave out the records of runs, and replaces a file only with --force", async () => {
    const to = path.join(files, "small.tar");
    await writeFile(to, "mine");
    const args = ["backup", "--data", restored.data, "--to", to, "--without-records"];
    const kept = await command(args);
    assert.equal(kept.code, 2);
    assert.match(kept.stderr, /--to: \/.*small\.tar exists; name another file, or replace it with --force/);
    assert.equal(await readFile(to, "utf8"), "mine");
    const { code, stderr } = await command([...args, "--force"]);
    assert.deepEqual([code, stderr], [0, ""]);
    const names = execFileSync("tar", ["-tf", to], { encoding: "utf8" }).trim().split("\n");
    assert.ok(names.includes("runs/usage.sqlite") && names.includes("audit.sqlite"), names.join(", "));
    assert.ok(!names.some((name) => isDay(path.basename(name))), names.join(", "));
    assert.deepEqual([names[0], names.at(-1)], ["backup.json", "SHA256SUMS"]);
  });

  it("is refused into the data folder, and of a folder that does not exist", async () => {
    const inside = await command(["backup", "--data", restored.data, "--to", path.join(restored.data, "limits/b.tar")]);
    assert.equal(inside.code, 2);
    assert.match(inside.stderr, /is in the data folder; name a file outside it/);
    const missing = await command(["backup", "--data", path.join(files, "none"), "--to", path.join(files, "n.tar")]);
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /--data: there is no folder/);
    const nowhere = await backup("--to", path.join(files, "none/b.tar"));
    assert.equal(nowhere.code, 2);
    assert.match(nowhere.stderr, /--to: the folder \/.*none does not exist/);
  });

  it("reports a folder that a process uses which answers no backup", async () => {
    await rm(path.join(restored.data, "backup.sock"));
    const { code, stderr } = await command(["backup", "--data", restored.data, "--to", path.join(files, "none.tar")]);
    assert.equal(code, 4);
    assert.match(stderr, /the data folder \/.* is in use by another service/);
  });

  it("reads a stopped service, after a kill too, and its files belong to the owner of a prepared folder", async () => {
    const to = path.join(files, "stopped.tar");
    const { code, stdout, stderr } = await backup("--to", to);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^backed up the stopped service of \/.+: /);
    const { uid } = await stat(home.data);
    for (const name of await readdir(home.data)) {
      const found = await stat(path.join(home.data, name));
      assert.equal(found.uid, uid, `${name} belongs to the service`);
    }
    await using again = await makeHome();
    await mkdir(again.data, { mode: 0o700 });
    if (process.getuid!() === 0) execFileSync("chown", ["4242:4242", again.data]);
    const done = await restore(to, again.data);
    assert.deepEqual([done.code, done.stderr], [0, ""]);
    const owner = (await stat(again.data)).uid;
    assert.equal((await stat(path.join(again.data, "limits/journal-1"))).uid, owner);
    const last = await startService(FLAGS, again);
    try {
      const used = FREE - (await containerRecord(last, "load", token)).month;
      assert.ok(used >= answered && used <= sent + 1, `${used} counted, ${answered} answered, ${sent} sent`);
    } finally {
      await last.stop();
    }
  });
});
