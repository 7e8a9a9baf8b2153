import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { getPriority } from "node:os";
import { describe, it, type TestContext } from "node:test";

import { GuestChild, spawnGuest } from "../../src/sandbox/guest-child.ts";
import { until } from "../contract/until.ts";

/** Sends a byte when it has started, and after the work for each byte that it receives. */
const PROGRAM = `
  const { Worker } = require("node:worker_threads");
  const frames = new (require("node:net").Socket)({ fd: 3 });
  const done = () => frames.write("!");
  require("node:fs").stat("/", done);
  frames.on("data", () => {`;
/** Two threads that compute, and one that ends. */
const START_THREADS = `
  const workers = ["for (;;);", "for (;;);", ""].map((code) => new Worker(code, { eval: true }));
  workers.at(-1).on("exit", done);`;
/** More than the processor time after which a guest is lowered. */
const COMPUTE = `
  const from = process.cpuUsage();
  while (process.cpuUsage(from).user < 4e5);
  done();`;

interface Started {
  readonly guest: GuestChild;
  readonly pid: number;
  /** Lets it work, and waits until it is done. */
  readonly work: () => Promise<void>;
}

/** Starts a process of several threads as a guest without a control group, in a session like all guests. */
async function startGuest(t: TestContext, onByte = START_THREADS): Promise<Started> {
  const command = { program: process.execPath, args: ["-e", `${PROGRAM}${onByte}});`], extraStdio: [], identity: {} };
  const child = spawnGuest({ ...command, environment: {}, cwd: "/" }, "pipe");
  const pid = child.pid!;
  const guest = new GuestChild(child, Promise.resolve(pid), null, "guest-1");
  t.after(async () => {
    guest.kill();
    await guest.exited;
  });
  const frames = guest.socket as Socket;
  const answered = (): Promise<void> => new Promise((resolve) => frames.once("data", () => resolve()));
  await answered();
  await guest.seal();
  return {
    guest,
    pid,
    work: async () => {
      const done = answered();
      frames.write("!");
      await done;
    },
  };
}

function threadsOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map(Number);
}

function autogroupOf(pid: number): number {
  return Number(/nice (-?\d+)/.exec(readFileSync(`/proc/${pid}/autogroup`, "utf8"))![1]);
}

const hasAutogroups = canRead("/proc/self/autogroup");

/** Otherwise a guest with the lowest share would compute for long on a machine with other load. Only root may do it. */
function favour(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, "-10");
  } catch {
    // This test then takes longer.
  }
}

function canRead(file: string): boolean {
  try {
    return readFileSync(file, "utf8").includes("nice");
  } catch {
    return false;
  }
}

describe("the niceness of a guest without a control group", { skip: process.platform !== "linux" }, () => {
  it("is the highest for threads that tasks start, and stays the same for the threads from before", async (t) => {
    const { guest, pid, work } = await startGuest(t);
    const before = threadsOf(pid);
    const niceness = getPriority(pid);
    await work();
    await until(async () => {
      await guest.inspect();
      const later = threadsOf(pid).filter((thread) => !before.includes(thread));
      return later.length === 2 && later.every((thread) => getPriority(thread) === 19);
    }, "both threads have the highest niceness");
    assert.deepEqual(new Set(before.map((thread) => getPriority(thread))), new Set([niceness]));
  });

  it("is the highest for all its threads when it keeps computing at a low priority", async (t) => {
    const { guest, pid, work } = await startGuest(t, COMPUTE);
    guest.setPriority("busy");
    guest.setPriority("low");
    favour(pid);
    await guest.inspect();
    await work();
    await until(async () => (await guest.inspect())!.niceness === 19, "the main thread has the highest niceness");
    assert.ok(threadsOf(pid).every((thread) => getPriority(thread) === 19));
  });

  it("stays the same if it computes at another priority, or does not compute", async (t) => {
    const { guest, pid, work } = await startGuest(t, COMPUTE);
    const niceness = getPriority(pid);
    guest.setPriority("low");
    await guest.inspect();
    guest.setPriority("normal");
    await work();
    guest.setPriority("busy");
    assert.equal((await guest.inspect())!.niceness, niceness);
    guest.setPriority("high");
    assert.equal((await guest.inspect())!.niceness, niceness);
  });
});

describe("the autogroup of a guest without a control group", { skip: !hasAutogroups }, () => {
  it("is nice from the start, has the highest niceness while the priority is low, and then its own again", async (t) => {
    const { guest, pid } = await startGuest(t);
    await until(() => autogroupOf(pid) === 10, "the autogroup is nice");
    guest.setPriority("low");
    await until(() => autogroupOf(pid) === 19, "the autogroup has the highest niceness");
    guest.setPriority("normal");
    await until(() => autogroupOf(pid) === 10, "the autogroup has its own niceness again");
  });

  it("has the highest niceness while tasks have threads", async (t) => {
    const { guest, pid, work } = await startGuest(t);
    await work();
    await guest.inspect();
    await until(() => autogroupOf(pid) === 19, "the autogroup has the highest niceness");
  });
});
