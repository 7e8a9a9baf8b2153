import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { it, type TestContext } from "node:test";

import { openCgroups } from "../../../src/sandbox/cgroup/open-cgroups.ts";
import type { Reply } from "../../../src/sandbox/launcher/launcher-messages.ts";
import type { SandboxOptions } from "../../../src/sandbox/local-sandbox.ts";
import { PRIORITIES } from "../../../src/sandbox/sandbox.ts";
import { until } from "../../contract/until.ts";
import { SANDBOX_OPTIONS } from "../../suites/sandbox.ts";

const PROGRAM = path.join(import.meta.dirname, "../../../src/sandbox/launcher/launcher-process.ts");
const GUESTS = 20;

interface ForkedLauncher {
  readonly launcher: ChildProcess;
  readonly exit: Promise<[number | null, string | null]>;
}

/** Starts a launcher, for which the test takes the place of the service and receives the connections of guests. */
async function forkLauncher(
  t: TestContext,
  onConnection: (socket: Socket) => void,
  options: Partial<SandboxOptions> = {},
): Promise<ForkedLauncher> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-launcher-"));
  const server = createServer(onConnection);
  server.listen(path.join(folder, "guests.sock"));
  await once(server, "listening");
  t.after(async () => {
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  const launcher = fork(PROGRAM, [JSON.stringify({ ...SANDBOX_OPTIONS, ...options }), server.address() as string]);
  return { launcher, exit: once(launcher, "exit") as ForkedLauncher["exit"] };
}

it("a launcher outlives a service that closes the connections of new guests", async (t) => {
  const { launcher, exit } = await forkLauncher(t, (socket) => void socket.on("error", () => {}).destroy());
  const over = new Set<number>();
  launcher.on("message", (reply: Reply) => {
    if (reply.is === "open") {
      for (let guest = 1; guest <= GUESTS; guest++) launcher.send({ do: "launch", guest });
    } else if (reply.is === "exited") {
      over.add(reply.guest);
      if (over.size === GUESTS) launcher.disconnect();
    }
  });
  assert.deepEqual(await exit, [0, null]);
  assert.equal(over.size, GUESTS);
});

it("a launcher starts one guest for each number, and ignores invalid requests of a compromised service", async (t) => {
  let connections = 0;
  const { launcher, exit } = await forkLauncher(t, (socket) => {
    connections++;
    socket.on("error", () => {}).resume();
  });
  const ends: number[] = [];
  launcher.on("message", (reply: Reply) => {
    if (reply.is === "open") {
      for (const odd of [
        null,
        1,
        "launch",
        [],
        { do: "launch" },
        { do: "launch", guest: "1" },
        { do: "constructor", guest: 1 },
        { do: "launch", guest: 2, kind: "shell" },
        { do: "launch", guest: 3, kind: ["esbuild", "/bin/sh"] },
        { do: "launch", guest: 4, kind: null },
      ])
        launcher.send(odd as never);
      for (let again = 0; again < 3; again++) launcher.send({ do: "launch", guest: 1 });
      launcher.send({ do: "inspect", guest: 1 });
    } else if (reply.is === "inspected") {
      launcher.send({ do: "kill", guest: 1 });
    } else if (reply.is === "exited") {
      ends.push(reply.guest);
      launcher.disconnect();
    }
  });
  assert.deepEqual(await exit, [0, null]);
  assert.deepEqual(ends, [1]);
  assert.equal(connections, 1);
});

it("a launcher refuses guests beyond the maximum, and starts others after a guest has ended", async (t) => {
  const mostGuests = 2;
  let connections = 0;
  const { launcher, exit } = await forkLauncher(
    t,
    (socket) => {
      connections++;
      socket.on("error", () => {}).resume();
    },
    { mostGuests },
  );
  const refused: number[] = [];
  const ended: number[] = [];
  launcher.on("message", (reply: Reply) => {
    if (reply.is === "open") {
      for (let guest = 1; guest <= GUESTS; guest++) launcher.send({ do: "launch", guest });
      // The last request is answered after all others.
      launcher.send({ do: "inspect", guest: 1 });
    } else if (reply.is === "inspected" && reply.guest === 1) {
      launcher.send({ do: "kill", guest: 1 });
    } else if (reply.is === "inspected") {
      launcher.disconnect();
    } else if (reply.is === "exited" && /2 guests are running, which is the maximum/.test(reply.exit.how)) {
      refused.push(reply.guest);
    } else if (reply.is === "exited") {
      ended.push(reply.guest);
      if (reply.guest !== 1) return;
      launcher.send({ do: "launch", guest: 100 });
      launcher.send({ do: "inspect", guest: 100 });
    }
  });
  assert.deepEqual(await exit, [0, null]);
  assert.deepEqual(
    refused,
    Array.from({ length: GUESTS - mostGuests }, (_, index) => index + mostGuests + 1),
  );
  assert.deepEqual(ended, [1]);
  assert.equal(connections, mostGuests + 1);
});

/** Returns the parent group of the guest's CPU group, and the CPU weight of the guest's group. */
function shareOf(launcher: ChildProcess): string | null {
  for (const folder of globSync(`/sys/fs/cgroup/**/caisson-guest-${launcher.pid}-*`)) {
    const weight = ["cpu.shares", "cpu.weight"].map((file) => path.join(folder, file)).find((file) => existsSync(file));
    if (!weight || readFileSync(path.join(folder, "cgroup.procs"), "utf8") === "") continue;
    return `${path.basename(path.dirname(folder))} ${readFileSync(weight, "utf8").trim()}`;
  }
  return null;
}

const groups = await openCgroups(SANDBOX_OPTIONS);
await groups?.close();
const skip = groups === null && "this process cannot create control groups";

it("a launcher sets each requested priority of a guest", { skip }, async (t) => {
  const { launcher, exit } = await forkLauncher(t, (socket) => void socket.on("error", () => {}).resume());
  const faults: unknown[] = [];
  const shares = new Set<string | null>();
  const check = async (): Promise<void> => {
    shares.add(shareOf(launcher));
    for (const priority of [...PRIORITIES.slice(1), PRIORITIES[0]]) {
      const before = shareOf(launcher);
      launcher.send({ do: priority, guest: 1 });
      await until(() => ![before, null].includes(shareOf(launcher)), `the guest has the priority ${priority}`);
      shares.add(shareOf(launcher));
    }
  };
  launcher.on("message", async (reply: Reply) => {
    if (reply.is === "open") {
      for (const what of ["launch", "seal"]) launcher.send({ do: what, guest: 1 });
    } else if (reply.is === "sealed") {
      await check().catch((fault: unknown) => faults.push(fault));
      launcher.disconnect();
    }
  });
  assert.deepEqual(await exit, [0, null]);
  assert.deepEqual(faults, []);
  // The last priority is the first one again.
  assert.equal(shares.size, PRIORITIES.length);
});
