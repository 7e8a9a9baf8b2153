import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import type { Config } from "../../src/config.ts";
import { readConfig } from "../../src/config/read.ts";
import { examineDataFolder } from "../../src/doctor/data-folder.ts";
import { examinePort } from "../../src/doctor/port.ts";
import { examineRedis } from "../../src/doctor/redis.ts";
import { examineEgress } from "../../src/egress/examine-egress.ts";
import type { Finding } from "../../src/finding.ts";
import { missing, startRedis } from "../redis/server.ts";

/** What the doctor finds of all but the wall. test/cli/doctor.test.ts runs it as a command. */

function config(flags: Readonly<Record<string, unknown>>, environment = {}): Config {
  return readConfig({ flags, environment, file: {} });
}

function inState(findings: readonly Finding[], state: Finding["state"]): string[] {
  return findings.filter((each) => each.state === state).map(({ layer }) => layer);
}

function named(findings: readonly Finding[], name: string): Finding {
  const found = findings.find(({ layer }) => layer === name);
  assert.ok(found, `no ${name} in ${findings.map(({ layer }) => layer).join()}`);
  return found;
}

describe("a Redis that nodes share", { skip: await missing("redis-server") }, () => {
  const LAYERS = ["Redis", "Redis connection", "Redis persistence", "Redis memory"];

  it("is reached, asked for a count that makes no state, and reports how it keeps its data", async () => {
    await using redis = await startRedis(["--save", "", "--appendonly", "yes", "--appendfsync", "always"]);
    const found = await examineRedis(config({ redis: redis.url }));
    assert.deepEqual(inState(found, "held"), LAYERS);
    assert.match(named(found, "Redis").proof, /^the Redis at 127\.0\.0\.1:\d+: \d+\.\d+\.\d+, it answered/);
    assert.match(named(found, "Redis connection").proof, /^no TLS, no password; it does not leave this machine/);
    assert.equal(named(found, "Redis persistence").proof, "appendonly yes, appendfsync always");
    assert.deepEqual(await redis.client.keys("*"), []);
  });

  it("that forgets is warned of, and starts nothing less for it", async () => {
    await using redis = await startRedis(["--save", "", "--maxmemory-policy", "allkeys-lru"]);
    const found = await examineRedis(config({ redis: redis.url }));
    assert.deepEqual(inState(found, "open"), []);
    assert.deepEqual(inState(found, "weak"), ["Redis persistence", "Redis memory"]);
    assert.match(named(found, "Redis memory").proof, /allkeys-lru/);
    assert.equal(named(found, "Redis memory").remedy, "maxmemory-policy noeviction");
  });

  it("is open where this user may not count there", async () => {
    const readers = ["--user", "default", "on", "nopass", "~*", "&*", "+@all", "-@scripting"];
    await using redis = await startRedis(["--save", "", ...readers]);
    const found = await examineRedis(config({ redis: redis.url }));
    assert.deepEqual(inState(found, "open"), ["Redis"]);
    assert.match(named(found, "Redis").proof, /cannot count: NOPERM/);
  });

  it("is open where it cannot be reached, and its password is not repeated", async () => {
    const found = await examineRedis(config({}, { CAISSON_REDIS: "redis://:s3cret@127.0.0.1:1" }));
    assert.deepEqual(inState(found, "open"), ["Redis"]);
    assert.match(named(found, "Redis").proof, /the Redis at 127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/);
    assert.doesNotMatch(JSON.stringify(found), /s3cret/);
  });
});

describe("egress", () => {
  it("is reported as it was set, and places that must be refused are asked for", async () => {
    const egressAllow = ["db.internal:5432", "10.0.0.1:80"];
    const { state, proof } = await examineEgress(config({ egressPorts: ["8443"], egressAllow }));
    assert.equal(state, "held");
    assert.match(proof, /^public addresses on ports 8443; also db\.internal:5432, 10\.0\.0\.1:80 by --egress-allow/);
    assert.match(proof, /; 127\.0\.0\.1, 169\.254\.169\.254, .*: denied$/);
    const none = await examineEgress(config({ egress: "none" }));
    assert.match(none.proof, /^no address; 127\.0\.0\.1, 10\.0\.0\.1, .*: denied$/);
  });
});

describe("a port", () => {
  it("that another program listens on is open, and named", async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const { port } = server.address() as AddressInfo;
      const { state, proof } = await examinePort(config({ port: String(port) }));
      assert.equal(state, "open");
      assert.ok(proof.includes(`${port} of 127.0.0.1 is in use`), proof);
    } finally {
      server.close();
    }
  });
});

describe("a data folder", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "caisson-doctor-"));
  });
  after(() => rm(folder, { recursive: true }));

  it("that other users have access to is weak, with the command that fixes it", async () => {
    const open = path.join(folder, "open");
    await mkdir(open);
    await chmod(open, 0o755);
    const { state, remedy } = await examineDataFolder(open, null);
    assert.deepEqual([state, remedy], ["weak", `run: chmod go= ${open}`]);
  });

  it("whose parent folder is missing is open, because a start refuses it", async () => {
    const parent = path.join(folder, "missing");
    const { state, proof, remedy } = await examineDataFolder(path.join(parent, "data"), null);
    assert.deepEqual(
      [state, proof, remedy],
      [
        "open",
        `${parent}/data does not exist yet, and neither does ${parent}`,
        `run mkdir -p ${parent}, or give another --data`,
      ],
    );
  });

  it("that is none is open", async () => {
    const file = path.join(folder, "file");
    await writeFile(file, "");
    const { state, proof } = await examineDataFolder(file, null);
    assert.deepEqual([state, proof], ["open", `${file} is not a folder`]);
  });
});
