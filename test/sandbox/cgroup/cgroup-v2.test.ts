import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it, type TestContext } from "node:test";

import { openVersion2 } from "../../../src/sandbox/cgroup/cgroup-v2.ts";
import {
  ALL_GUESTS_GROUP,
  GUEST_GROUP,
  heldBy,
  STARTING_GROUP,
  type ResourceLimits,
} from "../../../src/sandbox/cgroup/cgroup.ts";
import { processTag } from "../../../src/sandbox/temp/process-tag.ts";

const LIMITS: ResourceLimits = { memoryBytes: 256 * 2 ** 20, threads: 64, cpuCores: 0.5 };

/**
 * Creates a folder that replaces a group of version 2. It only stores the written values. Whether the kernel enforces them
 * can be tested only on a machine with version 2.
 */
async function fakeGroup(t: TestContext, files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-group-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  return folder;
}

function contents(folder: string, ...files: string[]): Record<string, string | null> {
  const read = (file: string): string | null => {
    return existsSync(path.join(folder, file)) ? readFileSync(path.join(folder, file), "utf8") : null;
  };
  return Object.fromEntries(files.map((file) => [file, read(file)]));
}

const ROOT = { "cgroup.controllers": "cpuset cpu io memory pids\n" };
const OTHER = { ...ROOT, "cgroup.type": "domain\n" };

describe("control groups of version 2", () => {
  it("limit memory without swap, threads and CPU, and are killed as a whole", async (t) => {
    const base = await fakeGroup(t, ROOT);
    const groups = (await openVersion2(base, LIMITS))!;
    assert.equal(groups.version, 2);
    assert.deepEqual(heldBy(groups), { memory: true, cpu: true });
    assert.equal(contents(base, "cgroup.subtree_control")["cgroup.subtree_control"], "+memory +pids +cpu");
    const group = await groups.create("caisson-guest-1-1");
    await group.add(4_711);
    const all = path.join(base, processTag(ALL_GUESTS_GROUP));
    assert.deepEqual(contents(all, "cpu.weight", "cgroup.subtree_control"), {
      "cpu.weight": "50",
      "cgroup.subtree_control": "+memory +pids +cpu",
    });
    const made = path.join(all, "caisson-guest-1-1");
    const files = ["memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.weight", "cpu.max"];
    assert.deepEqual(contents(made, ...files, "cgroup.procs"), {
      "memory.max": "268435456",
      "memory.swap.max": "0",
      "memory.oom.group": "1",
      "pids.max": "64",
      "cpu.weight": "50",
      "cpu.max": "50000 100000",
      "cgroup.procs": "4711",
    });
    await groups.begin(4_712);
    assert.deepEqual(contents(path.join(all, STARTING_GROUP), "cpu.weight", "cgroup.procs"), {
      "cpu.weight": "100",
      "cgroup.procs": "4712",
    });
    await group.setPriority("busy");
    assert.equal(contents(made, "cpu.weight")["cpu.weight"], "5");
    await group.setPriority("low");
    assert.equal(contents(made, "cpu.weight")["cpu.weight"], "2");
    await group.setPriority("normal");
    assert.equal(contents(made, "cpu.weight")["cpu.weight"], "25");
  });

  it("do not limit CPU without its controller, and are not opened without those of memory and threads", async (t) => {
    const noCpu = await fakeGroup(t, { "cgroup.controllers": "memory pids\n" });
    const groups = (await openVersion2(noCpu, LIMITS))!;
    assert.deepEqual(heldBy(groups), { memory: true, cpu: false });
    await groups.create("group");
    assert.deepEqual(contents(path.join(noCpu, processTag(ALL_GUESTS_GROUP), "group"), "pids.max", "cpu.max"), {
      "pids.max": "64",
      "cpu.max": null,
    });
    for (const offered of ["", "cpu pids\n", "memory\n", "memoryx pidsx\n"]) {
      const base = await fakeGroup(t, { ...OTHER, "cgroup.controllers": offered, "cgroup.procs": `${process.pid}\n` });
      assert.equal(await openVersion2(base, LIMITS), null, offered);
      assert.ok(!existsSync(path.join(base, "caisson-service")), "nothing was moved");
    }
    assert.equal(await openVersion2(undefined, LIMITS), null);
    assert.equal(await openVersion2("/nowhere", LIMITS), null);
  });

  it("move the service and the processes that started it into a leaf group, but no other process", async (t) => {
    const base = await fakeGroup(t, { ...OTHER, "cgroup.procs": `0\n${process.ppid}\n${process.pid}\n` });
    const groups = (await openVersion2(base, LIMITS))!;
    await groups.prefer([process.pid]);
    // The file has only the last written pid, because a pid is written at a time.
    assert.deepEqual(contents(path.join(base, "caisson-service"), "cgroup.procs", "cpu.weight"), {
      "cgroup.procs": String(process.ppid),
      "cpu.weight": "800",
    });
  });

  it("are created at the same place if the same shell starts the service again", async (t) => {
    const base = await fakeGroup(t, { ...OTHER, "cgroup.procs": "" });
    const leaf = path.join(base, "caisson-service");
    await mkdir(leaf);
    await writeFile(path.join(leaf, "cgroup.controllers"), "memory pids cpu\n");
    await writeFile(path.join(leaf, "cgroup.procs"), `${process.ppid}\n${process.pid}\n`);
    const groups = (await openVersion2(leaf, LIMITS))!;
    await groups.create("group");
    assert.ok(existsSync(path.join(base, processTag(ALL_GUESTS_GROUP), "group")));
    await groups.prefer([process.pid]);
    assert.equal(contents(leaf, "cpu.weight")["cpu.weight"], "800");
    assert.ok(!existsSync(path.join(leaf, "caisson-service")), "the groups are not deeper after each start");
  });

  it("do not move a service in the root group, because the root may have members", async (t) => {
    const base = await fakeGroup(t, { ...ROOT, "cgroup.procs": `${process.pid}\n` });
    await (await openVersion2(base, LIMITS))!.prefer([process.pid]);
    assert.ok(!existsSync(path.join(base, "caisson-service")));
  });

  it("report whether the kernel killed a member because of memory", async (t) => {
    const base = await fakeGroup(t, ROOT);
    const group = await (await openVersion2(base, LIMITS))!.create("group");
    const events = (kills: number): Promise<void> => {
      const text = `low 0\nhigh 0\nmax 9\noom 9\noom_kill ${kills}\noom_group_kill 0\n`;
      return writeFile(path.join(base, processTag(ALL_GUESTS_GROUP), "group", "memory.events"), text);
    };
    await events(0);
    assert.equal(await group.ranOutOfMemory(), false);
    await events(2);
    assert.equal(await group.ranOutOfMemory(), true);
  });

  it("remove the empty groups of an ended service, and keep the groups of other services", async (t) => {
    const base = await fakeGroup(t, ROOT);
    const dead = `${2 ** 22 + 1}-1-`;
    const names = [
      `caisson-guest-${dead}1`,
      `caisson-guests-${dead}/caisson-guest-${dead}2`,
      `caisson-guests-${dead}`,
      `${processTag(GUEST_GROUP)}1`,
      processTag(ALL_GUESTS_GROUP),
      "other",
    ];
    for (const name of names) await mkdir(path.join(base, name), { recursive: true });
    await openVersion2(base, LIMITS);
    assert.deepEqual(
      names.map((name) => existsSync(path.join(base, name))),
      [false, false, false, true, true, true],
    );
  });
});
