import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { REPLACED } from "../../../src/containers/guest/exit-causes.ts";
import type { Guest } from "../../../src/containers/guest/guest.ts";
import { openCgroups } from "../../../src/sandbox/cgroup/open-cgroups.ts";
import { openRealGuests, type RealGuests, RESOURCES } from "../../containers/real-guests.ts";
import { start } from "../../containers/recorder.ts";
import { until } from "../../contract/until.ts";

const PERIOD_MS = 100;
/** A quota so small that even a busy machine has more CPU available. */
const CORES = 0.1;
const THREADS = 16;
/** The tolerance, in milliseconds: the excess of one period, and CPU used before and after the measurement. */
const SLACK_MS = 60;

const groups = await openCgroups(RESOURCES);
const skip = groups === null && "this process cannot create control groups";

/** Returns the folders of the groups of this process's guests. Under version 1 a guest has one for each controller. */
function foldersOfGuests(): string[] {
  return globSync(`/sys/fs/cgroup/**/caisson-guest-${process.pid}-*`);
}

/** Reads a file of the guest's groups. Only one controller has the file. */
function read(file: string): string | null {
  const files = globSync(`/sys/fs/cgroup/**/caisson-guest-${process.pid}-*/${file}`);
  const found = files.find((each) => !each.includes("/caisson-last-") && !each.includes("/busy/"));
  return found === undefined ? null : readFileSync(found, "utf8").trim();
}

/** Returns the groups of a process. */
function groupsOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cgroup`, "utf8");
}

/** The number of groups of one guest under version 1: one for each controller, one busy group, and one last group. */
const FOLDERS_OF_ONE = 5;

function folders(): string[] {
  return globSync(`/sys/fs/cgroup/**/caisson-guest-${process.pid}-*`);
}

const LAST = `caisson-last-${process.pid}-*`;
const BUSY = `caisson-guests-${process.pid}-*/busy`;

/** Returns the folder of a guest's group that is below a parent group and has a member, or null. */
function groupBelow(parent: string): string | null {
  const files = globSync(`/sys/fs/cgroup/**/${parent}/caisson-guest-*/cgroup.procs`);
  const found = files.find((file) => readFileSync(file, "utf8") !== "");
  return found === undefined ? null : path.dirname(found);
}

function quota(): string {
  const [file] = globSync(`/sys/fs/cgroup/**/caisson-guests-${process.pid}-*/caisson-guest-*/cpu.cfs_quota_us`);
  return readFileSync(file!, "utf8");
}

function count(text: string | null, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text ?? "")?.[1]);
}

describe("the group of a guest", { skip }, () => {
  let real: RealGuests;
  let guest: Guest;

  before(async () => {
    real = await openRealGuests({ cpuCores: CORES });
    guest = await real.make();
  });
  after(() => real.close());

  it("has a smaller share of CPU than other groups of the machine, and no swap", () => {
    const memory = String(RESOURCES.memoryBytes);
    if (groups!.version === 2) {
      assert.deepEqual([read("cpu.weight"), read("memory.swap.max"), read("memory.max")], ["50", "0", memory]);
      return;
    }
    assert.equal(read("cpu.shares"), "512");
    const [all] = globSync(`/sys/fs/cgroup/**/caisson-guests-${process.pid}-*/cpu.shares`);
    assert.equal(readFileSync(all!, "utf8").trim(), "512");
    assert.equal(read("memory.limit_in_bytes"), memory);
    // Kernels without swap accounting have no such file.
    assert.equal(read("memory.memsw.limit_in_bytes") ?? memory, memory);
  });

  it("has half the weight after its first run", async () => {
    guest.setPriority("normal");
    const [file, usual] = groups!.version === 2 ? ["cpu.weight", "25"] : ["cpu.shares", "256"];
    await until(() => read(file) === usual, "its share is normal");
  });

  it("has almost no share of CPU compared with other guests at the priority low", async () => {
    if (groups!.version === 2) {
      const usual = read("cpu.weight");
      guest.setPriority("low");
      await until(() => Number(read("cpu.weight")) * 10 < Number(usual), "its share is low");
      guest.setPriority("normal");
      await until(() => read("cpu.weight") === usual, "its share is normal again");
      return;
    }
    guest.setPriority("low");
    await until(() => groupBelow(LAST) !== null, "the guest is in the last group");
    const last = groupBelow(LAST)!;
    assert.ok(Number(readFileSync(path.join(last, "../cpu.shares"), "utf8")) < 50);
    assert.equal(readFileSync(path.join(last, "cpu.cfs_quota_us"), "utf8"), quota());
    guest.setPriority("normal");
    await until(() => groupBelow(LAST) === null, "the guest is in the normal group again");
    guest.setPriority("low");
    await until(() => groupBelow(LAST) !== null, "the guest is in the last group again");
    guest.setPriority("normal");
    await until(() => groupBelow(LAST) === null, "the guest is in the normal group");
  });

  it("shares the CPU share of one guest with all busy guests at the priority busy", async () => {
    if (groups!.version === 2) {
      guest.setPriority("busy");
      await until(() => read("cpu.weight") === "5", "its share is smaller");
      guest.setPriority("normal");
      await until(() => read("cpu.weight") === "25", "its share is normal again");
      return;
    }
    guest.setPriority("busy");
    await until(() => groupBelow(BUSY) !== null, "the guest is in the busy group");
    const busy = groupBelow(BUSY)!;
    assert.equal(readFileSync(path.join(busy, "../cpu.shares"), "utf8").trim(), read("cpu.shares"));
    assert.equal(readFileSync(path.join(busy, "cpu.cfs_quota_us"), "utf8"), quota());
    guest.setPriority("low");
    await until(() => groupBelow(BUSY) === null && groupBelow(LAST) !== null, "the guest is in the last group");
    guest.setPriority("busy");
    await until(() => groupBelow(BUSY) !== null && groupBelow(LAST) === null, "the guest is in the busy group again");
    guest.setPriority("normal");
    await until(() => groupBelow(BUSY) === null, "the guest is in the normal group");
  });

  it("is removed if the guest ends during a change of priority", async () => {
    const other = await real.make();
    other.setPriority("busy");
    other.setPriority("low");
    other.end(REPLACED);
    await other.process.exited;
    await until(() => folders().length <= FOLDERS_OF_ONE, "only the groups of the first guest are left");
  });

  it("limits a busy task to its quota in each period", async () => {
    const cpuMs = async (): Promise<number> => (await guest.process.inspect())!.cpuMs;
    const [periods, throttled, burned] = [
      count(read("cpu.stat"), "nr_periods"),
      count(read("cpu.stat"), "nr_throttled"),
      await cpuMs(),
    ];
    const burn = start(
      guest,
      `const from = process.cpuUsage();
      const used = () => { const { user, system } = process.cpuUsage(from); return user + system };
      while (used() < 1e5);
      return 1`,
    );
    assert.equal(await burn.outcome(), "result 1");
    const burnedMs = (await cpuMs()) - burned;
    const passed = count(read("cpu.stat"), "nr_periods") - periods;
    assert.ok(count(read("cpu.stat"), "nr_throttled") > throttled, "the kernel throttled the guest");
    assert.ok(burnedMs <= passed * PERIOD_MS * CORES + SLACK_MS, `${burnedMs} ms in ${passed} periods`);
  });
});

describe(
  "the other groups of a service",
  { skip: skip || (groups!.version === 2 && "version 2 has none in its root") },
  () => {
    let child: ChildProcess;

    before(() => {
      child = spawn("sleep", ["60"], { stdio: "ignore" });
    });
    after(() => child.kill());

    it("give the service more CPU than guests, and release it when they are closed", async () => {
      const home = groupsOf(process.pid);
      const own = (await openCgroups(RESOURCES))!;
      await own.prefer([process.pid, child.pid!]);
      const groupPath = new RegExp(`:cpu:(/caisson-service-${process.pid}-\\d+-)$`, "m");
      const folder = `/sys/fs/cgroup/cpu${groupPath.exec(groupsOf(process.pid))![1]}`;
      assert.match(groupsOf(child.pid!), groupPath);
      assert.ok(Number(readFileSync(`${folder}/cpu.shares`, "utf8")) > 4 * 1_024);
      await own.close();
      assert.deepEqual([groupsOf(process.pid), existsSync(folder)], [home, false]);
      assert.equal(child.exitCode ?? child.signalCode, null);
    });

    it("count the CPU of a starting guest for the group of all guests", async () => {
      const own = (await openCgroups(RESOURCES))!;
      await own.begin(child.pid!);
      assert.match(groupsOf(child.pid!), new RegExp(`:cpu:/caisson-guests-${process.pid}-\\d+-/starting$`, "m"));
      child.kill();
      await once(child, "exit");
      await own.close();
      assert.deepEqual(globSync(`/sys/fs/cgroup/**/caisson-guests-${process.pid}-*/starting`), []);
    });

    it("release a service whose launcher was killed", async (t) => {
      const service = spawn("sleep", ["60"], { stdio: "ignore" });
      t.after(() => service.kill());
      const folder = `/sys/fs/cgroup/cpu/caisson-service-${2 ** 22 + 1}-1-`;
      await mkdir(folder);
      await writeFile(`${folder}/cgroup.procs`, String(service.pid));
      await (await openCgroups(RESOURCES))!.close();
      assert.deepEqual([existsSync(folder), service.exitCode ?? service.signalCode], [false, null]);
    });
  },
);

describe("the group of a guest with a small limit of threads", { skip }, () => {
  it("stops a task that starts too many threads, and its container still answers", async (t) => {
    // Each worker needs several MiB, so the memory limit is higher: the limit of threads must stop it.
    const real = await openRealGuests({ threads: THREADS, memoryBytes: 2 * RESOURCES.memoryBytes });
    t.after(() => real.close());
    const guest = await real.make();
    const bomb = start(
      guest,
      `const { Worker } = require("node:worker_threads");
      for (let made = 0; made < ${THREADS}; made++) {
        try {
          const worker = new Worker("setInterval(() => {}, 1e6)", { eval: true });
          await new Promise((online, refused) => worker.once("online", online).once("error", refused));
        } catch (error) {
          return "refused " + error.code;
        }
      }`,
    );
    assert.equal(await bomb.outcome(), 'result "refused ERR_WORKER_INIT_FAILED"');
    assert.ok(count(read("pids.events"), "max") > 0, "the kernel refused a thread");
    assert.ok((await guest.process.inspect())!.threads <= THREADS);
    assert.equal(await start(guest, "6 * 7").outcome(), "result 42");
  });
});

/** Memory outside V8's heap. V8 itself would detect the end of its heap. */
const HOARDS: Readonly<Record<string, string>> = {
  buffers: "const held = []; for (;;) held.push(Buffer.alloc(4 << 20, 1))",
  "WebAssembly memory":
    "const memory = new WebAssembly.Memory({ initial: 1 }); for (;;) { memory.grow(64); new Uint8Array(memory.buffer).fill(1) }",
  "shared memory": "const held = []; for (;;) held.push(new Uint8Array(new SharedArrayBuffer(4 << 20)).fill(1))",
  "buffers of a worker thread": `const { Worker } = require("node:worker_threads");
    new Worker("const held = []; for (;;) held.push(Buffer.alloc(4 << 20, 1))", { eval: true });
    await new Promise((never) => setTimeout(never, 60_000))`,
  "files and buffers together": `const fs = require("node:fs"); const held = [];
    for (let at = 0; at < 3; at++) fs.writeFileSync("/tmp/" + at, Buffer.alloc(4 << 20, 1));
    for (let taken = 0; taken < 128; taken += 4) held.push(Buffer.alloc(4 << 20, 1))`,
};

describe("a task that uses more memory than its group's limit", { skip }, () => {
  let real: RealGuests;

  before(async () => {
    real = await openRealGuests();
  });
  after(() => real.close());

  for (const [what, code] of Object.entries(HOARDS)) {
    it(`ends with task_memory, and its group is removed: ${what}`, async () => {
      const run = start(await real.make(), code);
      assert.equal(await run.outcome(), "task_memory");
      await until(() => foldersOfGuests().length === 0, "the group is removed");
    });
  }
});

describe("guests that are killed while they are sealed", { skip }, () => {
  it("leave no group behind, at any stage of sealing", async (t) => {
    const real = await openRealGuests();
    t.after(() => real.close());
    const killed = Array.from({ length: 8 }, async (_, index) => {
      const guest = await real.sandbox.launch();
      // Each guest is killed a little later.
      for (let turn = 0; turn < index; turn++) await guest.inspect();
      const sealed = guest.seal().catch(() => {});
      for (let turn = 0; turn < index; turn++) await guest.inspect();
      guest.kill();
      await Promise.all([sealed, guest.exited]);
    });
    await Promise.all(killed);
    assert.deepEqual(
      foldersOfGuests().map((folder) => path.basename(folder)),
      [],
    );
  });
});
