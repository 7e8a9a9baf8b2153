import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";

import type { ResourceLimits } from "../cgroup/cgroup.ts";
import { sealLibrary } from "../plan/seal.ts";
import type { Held, IsolationLevel } from "../sandbox.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import { userNamespaceRemedy } from "../user-namespaces.ts";
import { type Account, readAccount } from "./account.ts";
import { attackSource, judgeAttacks, type Places } from "./attacks.ts";
import type { Check } from "./check.ts";
import { exhaustMemory } from "./exhaust-memory.ts";
import { fillDisk } from "./fill-disk.ts";
import { judgeAccount } from "./kernel.ts";
import type { MakeProbeGuest, ProbeGuest } from "./probe-guest.ts";

/** What the wall is to hold. */
export interface Promised extends ResourceLimits {
  readonly level: IsolationLevel;
  readonly tmpBytes: number;
  readonly descriptors: number;
  readonly held: Held;
  /** What the layers have shown one by one. */
  readonly layers: readonly Check[];
}

/** A file of the host that any of its users may read, and that no guest has. */
const HOST_FILE = "/bin/sh";
/** Its pages count as the guest's memory, so a guest may not be able to fill a larger one. */
const MOST_FILLED_BYTES = 128 * 2 ** 20;

/**
 * Attacks the wall from inside, with places that do exist outside, and asks the kernel what it holds: what does not
 * hold must be known before anybody relies on it. Two guests, at the same time: one does not survive.
 *
 * @throws {Error} when no guest can be started, saying why and what to set.
 */
export async function testWall(make: MakeProbeGuest, promised: Promised): Promise<Check[]> {
  const [guest, spent] = await makeTwo(make);
  try {
    const kernel = await askKernel(guest, spent, promised);
    const [attacks, memory] = await Promise.all([
      attackToTheEnd(guest, promised),
      exhaustMemory(spent, promised.memoryBytes, promised.held.memory),
    ]);
    return [...kernel, ...attacks, ...memory, ...promised.layers];
  } finally {
    guest.end();
    spent.end();
  }
}

/** @throws {Error} naming every check that the wall did not stand. */
export function refuseOpenWall(checks: readonly Check[]): void {
  const open = checks.filter(({ outcome }) => outcome === "open");
  if (open.length === 0) return;
  const named = open.map(({ layer, tried, found }) => `${layer}: ${tried} (${found})`);
  throw new Error(`the sandbox does not hold: ${named.join(", ")}`);
}

async function makeTwo(make: MakeProbeGuest): Promise<[ProbeGuest, ProbeGuest]> {
  const made = await Promise.allSettled([make(), make()]);
  const guests = made.filter((each) => each.status === "fulfilled").map(({ value }) => value);
  if (guests.length === 2) return guests as [ProbeGuest, ProbeGuest];
  for (const guest of guests) guest.end();
  throw await explain(made.find((each) => each.status === "rejected")!.reason);
}

/** The end of the guest says the most: bubblewrap's own complaint is in it. */
async function explain(error: Error): Promise<Error> {
  let root = error;
  while (root.cause instanceof Error) root = root.cause;
  const remedy = /namespace|uid map|not permitted/i.test(root.message) ? `; ${await userNamespaceRemedy()}` : "";
  return new Error(`no guest can be started: ${root.message}${remedy}`, { cause: error });
}

async function askKernel(guest: ProbeGuest, neighbour: ProbeGuest, promised: Promised): Promise<Check[]> {
  const [account, beside, own] = await Promise.all([accountOf(guest), accountOf(neighbour), readAccount("self")]);
  return judgeAccount({ guest: account, neighbour: beside, own }, promised);
}

async function accountOf(guest: ProbeGuest): Promise<Account> {
  const status = await guest.process.inspect();
  if (!status) throw new Error(`a guest ended before it was asked anything: ${(await guest.process.exited).how}`);
  return readAccount(status.pid);
}

/** First as a task would by Node's own means, then by what is the end of the guest. */
async function attackToTheEnd(guest: ProbeGuest, promised: Promised): Promise<Check[]> {
  const checks = await attack(guest, promised);
  if (promised.level === "confined") return [...checks, await fillDisk(guest, promised.tmpBytes)];
  return checks;
}

async function attack(guest: ProbeGuest, { level, memoryBytes, tmpBytes, descriptors }: Promised): Promise<Check[]> {
  const servers = { tcp: createServer(hangUp), tcp6: createServer(hangUp), unix: createServer(hangUp) };
  const name = `\0caisson-self-test-${process.pid}-${Date.now()}`;
  try {
    const [port, port6] = await Promise.all([
      listen(servers.tcp, "127.0.0.1"),
      // A host without IPv6 has nothing that could be connected to.
      listen(servers.tcp6, "::1").catch(() => 0),
      once(servers.unix.listen(name), "listening"),
    ]);
    // Where nothing refuses to fill it, it is filled last.
    const fillsTmp = level !== "confined" && tmpBytes <= Math.min(MOST_FILLED_BYTES, memoryBytes / 2);
    const places: Places = {
      hostFile: HOST_FILE,
      port,
      port6,
      name,
      parent: process.pid,
      tmpBytes,
      descriptors,
      library: sealLibrary(process.arch as Architecture).toString("base64"),
      fillsTmp,
    };
    return judgeAttacks(await guest.run(attackSource(places)), places);
  } finally {
    for (const server of Object.values(servers)) server.close();
  }
}

/** Who connects has shown enough; how it ends is of no interest. */
function hangUp(socket: Socket): void {
  socket.on("error", () => {}).destroy();
}

async function listen(server: Server, host: string): Promise<number> {
  await once(server.listen(0, host), "listening");
  return (server.address() as AddressInfo).port;
}
