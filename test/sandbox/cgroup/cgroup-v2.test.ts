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
 * A folder that stands for a group of version 2. It holds what is written and does not act on it: that the kernel does,
 * is for a machine that has version 2 to show.
 */
async function standIn(t: TestContext, files: Record<string, string>): Promise<string> {
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
  it("hold memory without swap, threads and CPU, and end a group as a whole", async (t) => {
    const base = await standIn(t, ROOT);
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

  it("do without a limit of CPU where that is not offered, and are none where memory or threads are not", async (t) => {
    const noCpu = await standIn(t, { "cgroup.controllers": "memory pids\n" });
    const groups = (await openVersion2(noCpu, LIMITS))!;
    assert.deepEqual(heldBy(groups), { memory: true, cpu: false });
    await groups.create("group");
    assert.deepEqual(contents(path.join(noCpu, processTag(ALL_GUESTS_GROUP), "group"), "pids.max", "cpu.max"), {
      "pids.max": "64",
      "cpu.max": null,
    });
    for (const offered of ["", "cpu pids\n", "memory\n", "memoryx pidsx\n"]) {
      const base = await standIn(t, { ...OTHER, "cgroup.controllers": offered, "cgroup.procs": `${process.pid}\n` });
      assert.equal(await openVersion2(base, LIMITS), null, offered);
      assert.ok(!existsSync(path.join(base, "caisson-service")), "nothing was moved");
    }
    assert.equal(await openVersion2(undefined, LIMITS), null);
    assert.equal(await openVersion2("/nowhere", LIMITS), null);
  });

  it("move the service out of the way, with what started it, and nobody else", async (t) => {
    const base = await standIn(t, { ...OTHER, "cgroup.procs": `0\n${process.ppid}\n${process.pid}\n` });
    const groups = (await openVersion2(base, LIMITS))!;
    await groups.prefer([process.pid]);
    // The last that was written: the kernel takes one at a time.
    assert.deepEqual(contents(path.join(base, "caisson-service"), "cgroup.procs", "cpu.weight"), {
      "cgroup.procs": String(process.ppid),
      "cpu.weight": "800",
    });
  });

  it("are made where they were before by a service that the same shell starts anew", async (t) => {
    const base = await standIn(t, { ...OTHER, "cgroup.procs": "" });
    const leaf = path.join(base, "caisson-service");
    await mkdir(leaf);
    await writeFile(path.join(leaf, "cgroup.controllers"), "memory pids cpu\n");
    await writeFile(path.join(leaf, "cgroup.procs"), `${process.ppid}\n${process.pid}\n`);
    const groups = (await openVersion2(leaf, LIMITS))!;
    await groups.create("group");
    assert.ok(existsSync(path.join(base, processTag(ALL_GUESTS_GROUP), "group")));
    await groups.prefer([process.pid]);
    assert.equal(contents(leaf, "cpu.weight")["cpu.weight"], "800");
    assert.ok(!existsSync(path.join(leaf, "caisson-service")), "and not deeper with each start");
  });

  it("leave the service where it is in the root, which may have members", async (t) => {
    const base = await standIn(t, { ...ROOT, "cgroup.procs": `${process.pid}\n` });
    await (await openVersion2(base, LIMITS))!.prefer([process.pid]);
    assert.ok(!existsSync(path.join(base, "caisson-service")));
  });

  it("know a kill for want of memory from none", async (t) => {
    const base = await standIn(t, ROOT);
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

  it("remove the empty groups of a service that is dead, and leave those of others", async (t) => {
    const base = await standIn(t, ROOT);
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
