import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, globSync } from "node:fs";
import { readFile, readlink } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";

import { GUEST_MALLOC } from "../../src/sandbox/guest-malloc.ts";
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

/** Launches a guest and waits for its ready frame. */
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

/** Returns the host ids of the running guests: descendants of this process that are process 1 of a namespace. */
async function guestPids(): Promise<number[]> {
  const pids: number[] = [];
  for (const folderName of globSync("/proc/[0-9]*")) {
    const status = await readFile(`${folderName}/status`, "utf8").catch(() => "");
    if (/^NSpid:.*\t1$/m.test(status) && (await isBelow(status))) pids.push(Number(path.basename(folderName)));
  }
  return pids;
}

/** Returns whether the process with this status descends from this process. */
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

describe("a guest at the level namespaces", () => {
  it("has a separate namespace of each kind, and no privileges", async (t) => {
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

  it(
    "has a different user than other guests if the service was started as root",
    { skip: process.getuid?.() !== 0 },
    async (t) => {
      await Promise.all([launch(t), launch(t)]);
      const pids = await guestPids();
      const statuses = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/status`, "utf8")));
      const uids = statuses.map((status) => /^Uid:\t(\d+)/m.exec(status)![1]);
      assert.equal(pids.length, 2);
      assert.equal(new Set(uids).size, 2);
    },
  );

  it("has only the variables of the seal and of the allocator, limits for descriptors and file size, and no open file of the host", async (t) => {
    await launch(t);
    const [pid] = await guestPids();
    const environment = (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0").filter(Boolean);
    assert.deepEqual(
      environment.filter((entry) => !entry.startsWith("PWD=")).toSorted(),
      Object.entries({ ...GUEST_MALLOC, ...sealedEnvironment("/guest") })
        .map((variable) => variable.join("="))
        .toSorted(),
    );
    const limits = await readFile(`/proc/${pid}/limits`, "utf8");
    assert.match(limits, /^Max open files\s+128\s+128/m);
    assert.match(limits, /^Max core file size\s+0\s+0/m);
    assert.match(limits, /^Max file size\s+16777216\s+16777216/m);
    const descriptors = globSync(`/proc/${pid}/fd/*`);
    const targets = await Promise.all(descriptors.map((file) => readlink(file).catch(() => "")));
    // The paths are the guest's: its own root is allowed, but no file of the host.
    for (const target of targets) assert.match(target, /^(?:\/|\/dev\/null|(?:socket|pipe|anon_inode):.*|)$/);
  });

  it("can be inspected until it ends", async (t) => {
    const guest = await launch(t);
    const status = await guest.inspect();
    assert.ok(status !== null && status.threads >= 1 && status.memoryBytes > MIB);
    guest.kill();
    await guest.exited;
    assert.equal(await guest.inspect(), null);
  });
});

describe("a sealed guest", () => {
  it("has the highest OOM score, so that the host kills it first", async (t) => {
    const guest = await launch(t);
    await guest.seal();
    const [pid] = await guestPids();
    assert.equal((await readFile(`/proc/${pid}/oom_score_adj`, "utf8")).trim(), "1000");
  });

  it("is under the limits of a control group, if this process can create groups", { skip: skipReason() }, async (t) => {
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

  it(
    "has its bubblewrap in a group of guests, and not in the group of the service",
    { skip: skipReason() },
    async (t) => {
      const guest = await launch(t);
      await guest.seal();
      const [pid] = await guestPids();
      const [, wrapper] = /^PPid:\t(\d+)$/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))!;
      const groups = async (): Promise<string> => readFile(`/proc/${wrapper}/cgroup`, "utf8");
      await until(async () => (await groups()).includes("/starting"), "bubblewrap was moved");
      assert.equal((await readFile(`/proc/${wrapper}/comm`, "utf8")).trim(), "bwrap");
    },
  );

  it("leaves no control group and no process behind when it is killed", async (t) => {
    const guest = await launch(t);
    await guest.seal();
    guest.kill();
    const { how, outOfMemory } = await guest.exited;
    assert.match(how, /signal|code/);
    assert.equal(outOfMemory, false);
    assert.deepEqual([groupsOfGuests(), await guestPids()], [[], []]);
    // A second kill after the end does nothing, and does not hit another process.
    guest.kill();
  });
});

describe("a guest that is killed immediately after launch", () => {
  it("ends before it has started, and leaves nothing behind", async () => {
    const guest = await sandbox.launch();
    guest.kill();
    await guest.exited;
    assert.deepEqual([groupsOfGuests(), await guestPids()], [[], []]);
    if (!guest.socket.destroyed) await once(guest.socket, "close");
  });
});

describe("a guest whose socket is closed by the service", () => {
  it("ends without being killed", async (t) => {
    const guest = await launch(t);
    guest.socket.destroy();
    await guest.exited;
    assert.deepEqual(await guestPids(), []);
  });
});

describe("a guest that cannot be confined", () => {
  it("ends, and its exit names the failed step", async () => {
    const local = await openLocalSandbox({ ...OPTIONS, descriptors: 2 ** 30 });
    const guest = local.start("pipe");
    assert.equal((await guest.exited).how, "the guest could not be confined: limit of nofile");
    await local.close();
  });
});

describe("openLocalSandbox", () => {
  it("rejects with the missing program and how to install it if there is no bubblewrap", async () => {
    const search = process.env["PATH"];
    process.env["PATH"] = "/nowhere";
    try {
      await assert.rejects(openLocalSandbox(OPTIONS), /bubblewrap is not installed.*apt-get install/);
    } finally {
      process.env["PATH"] = search;
    }
  });
});

/** Returns why tests of control groups are skipped, or false. */
function skipReason(): string | false {
  return process.getuid?.() === 0 ? false : "a user may not create control groups";
}
