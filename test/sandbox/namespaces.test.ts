import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, globSync } from "node:fs";
import { readFile, readlink } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";

import { sandboxOf, type SandboxOptions } from "../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import { sealedEnvironment } from "../../src/sandbox/plan/seal.ts";
import type { GuestProcess, Sandbox } from "../../src/sandbox/sandbox.ts";
import { FROM_GUEST } from "../../src/wire/messages.ts";
import { until } from "../contract/until.ts";

const MIB = 2 ** 20;
const OPTIONS: SandboxOptions = {
  isolation: "namespaces",
  memoryBytes: 128 * MIB,
  threads: 48,
  cpuCores: 1,
  tmpBytes: 16 * MIB,
  descriptors: 128,
  resultBytes: MIB,
  logs: { bytes: MIB, linesPerSecond: 1_000 },
};
const KINDS = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];

let sandbox: Sandbox;

before(async () => {
  sandbox = sandboxOf(await openLocalSandbox(OPTIONS));
});
after(() => sandbox.close());

/** A guest that has said that it is warm. */
async function launch(t: TestContext): Promise<GuestProcess> {
  const guest = await sandbox.launch();
  t.after(async () => {
    guest.kill();
    await guest.exited;
  });
  const [first] = (await once(guest.socket, "data")) as Buffer[];
  assert.equal(first![4], FROM_GUEST.ready);
  return guest;
}

/** The guests that live, by their ids on the host: each is process 1 of a namespace, and descends from this process. */
async function guestPids(): Promise<number[]> {
  const pids: number[] = [];
  for (const folderName of globSync("/proc/[0-9]*")) {
    const status = await readFile(`${folderName}/status`, "utf8").catch(() => "");
    if (/^NSpid:.*\t1$/m.test(status) && (await isBelow(status))) pids.push(Number(path.basename(folderName)));
  }
  return pids;
}

/** Whether this process is among the parents of the one with this status. */
async function isBelow(status: string): Promise<boolean> {
  for (let text = status; text !== "";) {
    const parent = Number(/^PPid:\t(\d+)$/m.exec(text)?.[1] ?? 0);
    if (parent === process.pid) return true;
    if (parent <= 1) return false;
    text = await readFile(`/proc/${parent}/status`, "utf8").catch(() => "");
  }
  return false;
}

function groupsOfGuests(): string[] {
  return globSync(`/sys/fs/cgroup/**/caisson-guest-${process.pid}-*`);
}

describe("a guest behind namespaces", () => {
  it("has namespaces of its own of every kind, and a user of its own", async (t) => {
    await launch(t);
    const [pid] = await guestPids();
    for (const kind of KINDS) {
      assert.notEqual(await readlink(`/proc/${pid}/ns/${kind}`), await readlink(`/proc/self/ns/${kind}`), kind);
    }
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    const uid = Number(/^Uid:\t(\d+)/m.exec(status)![1]);
    assert.notEqual(uid, 0);
    assert.match(status, /^NoNewPrivs:\t1$/m);
    assert.match(status, /^Seccomp:\t2$/m);
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
      assert.match(status, new RegExp(`^${set}:\t0+$`, "m"));
    }
    assert.match(status, /^NSpid:\t\d+(?:\t\d+)*\t1$/m);
  });

  it("is no neighbour's user, when the service was started as root", { skip: process.getuid?.() !== 0 }, async (t) => {
    await Promise.all([launch(t), launch(t)]);
    const pids = await guestPids();
    const statuses = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/status`, "utf8")));
    const uids = statuses.map((status) => /^Uid:\t(\d+)/m.exec(status)![1]);
    assert.equal(pids.length, 2);
    assert.equal(new Set(uids).size, 2);
  });

  it("is started with the seal and no other variable, may open few descriptors and small files, and holds no file of the host", async (t) => {
    await launch(t);
    const [pid] = await guestPids();
    const environment = (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0").filter(Boolean);
    assert.deepEqual(
      environment.filter((entry) => !entry.startsWith("PWD=")),
      Object.entries(sealedEnvironment("/guest")).map((variable) => variable.join("=")),
    );
    const limits = await readFile(`/proc/${pid}/limits`, "utf8");
    assert.match(limits, /^Max open files\s+128\s+128/m);
    assert.match(limits, /^Max core file size\s+0\s+0/m);
    assert.match(limits, /^Max file size\s+16777216\s+16777216/m);
    const descriptors = globSync(`/proc/${pid}/fd/*`);
    const targets = await Promise.all(descriptors.map((file) => readlink(file).catch(() => "")));
    // As the guest names them: its own root is among them, no file of the host is.
    for (const target of targets) assert.match(target, /^(?:\/|\/dev\/null|(?:socket|pipe|anon_inode):.*|)$/);
  });

  it("is watched from outside as long as it lives", async (t) => {
    const guest = await launch(t);
    const status = await guest.inspect();
    assert.ok(status !== null && status.threads >= 1 && status.memoryBytes > MIB);
    guest.kill();
    await guest.exited;
    assert.equal(await guest.inspect(), null);
  });
});

describe("a guest that is sealed", () => {
  it("is the first to go when the host runs out of memory", async (t) => {
    const guest = await launch(t);
    await guest.seal();
    const [pid] = await guestPids();
    assert.equal((await readFile(`/proc/${pid}/oom_score_adj`, "utf8")).trim(), "1000");
  });

  it("stands under the limits of a control group, where one can be made", { skip: skipReason() }, async (t) => {
    const guest = await launch(t);
    await guest.seal();
    const [pid] = await guestPids();
    const groups = groupsOfGuests();
    assert.ok(groups.length > 0);
    const read = async (file: string): Promise<string[]> => {
      const files = groups.map((group) => path.join(group, file)).filter((each) => existsSync(each));
      return Promise.all(files.map(async (each) => (await readFile(each, "utf8")).trim()));
    };
    for (const members of await read("cgroup.procs")) assert.equal(members, String(pid));
    const memory = [...(await read("memory.max")), ...(await read("memory.limit_in_bytes"))];
    assert.deepEqual([memory, await read("pids.max")], [[String(OPTIONS.memoryBytes)], [String(OPTIONS.threads)]]);
  });

  it("has its bubblewrap among the guests, and not among what comes before them", { skip: skipReason() }, async (t) => {
    const guest = await launch(t);
    await guest.seal();
    const [pid] = await guestPids();
    const [, wrapper] = /^PPid:\t(\d+)$/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))!;
    const groups = async (): Promise<string> => readFile(`/proc/${wrapper}/cgroup`, "utf8");
    await until(async () => (await groups()).includes("/starting"), "it was moved");
    assert.equal((await readFile(`/proc/${wrapper}/comm`, "utf8")).trim(), "bwrap");
  });

  it("leaves no control group and no process behind when it is killed", async (t) => {
    const guest = await launch(t);
    await guest.seal();
    guest.kill();
    const { how, outOfMemory } = await guest.exited;
    assert.match(how, /signal|code/);
    assert.equal(outOfMemory, false);
    assert.deepEqual([groupsOfGuests(), await guestPids()], [[], []]);
    // Again, and after its end: nothing to do, and nobody else's process is hit.
    guest.kill();
  });
});

describe("a guest that is killed at once", () => {
  it("goes before it has begun, and leaves nothing behind", async () => {
    const guest = await sandbox.launch();
    guest.kill();
    await guest.exited;
    assert.deepEqual([groupsOfGuests(), await guestPids()], [[], []]);
    if (!guest.socket.destroyed) await once(guest.socket, "close");
  });
});

describe("a guest whose socket is closed by the service", () => {
  it("ends by itself: nobody is left to work for", async (t) => {
    const guest = await launch(t);
    guest.socket.destroy();
    await guest.exited;
    assert.deepEqual(await guestPids(), []);
  });
});

describe("a guest that cannot be confined", () => {
  it("ends with the name of what could not be done", async () => {
    const wall = await openLocalSandbox({ ...OPTIONS, descriptors: 2 ** 30 });
    const guest = wall.start("pipe");
    assert.equal((await guest.exited).how, "the guest could not be confined: limit of nofile");
    await wall.close();
  });
});

describe("openWall", () => {
  it("says what is missing and how to get it where there is no bubblewrap", async () => {
    const search = process.env["PATH"];
    process.env["PATH"] = "/nowhere";
    try {
      await assert.rejects(openLocalSandbox(OPTIONS), /bubblewrap is not installed.*apt-get install/);
    } finally {
      process.env["PATH"] = search;
    }
  });
});

/** Why no control group can be looked at: known only to the kernel and its operator. */
function skipReason(): string | false {
  return process.getuid?.() === 0 ? false : "a user may make no control group";
}
