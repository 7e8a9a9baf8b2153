import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";

import type { ResourceLimits } from "../cgroup/cgroup.ts";
import { sealLibrary } from "../plan/seal.ts";
import type { GuestProcess, Held, IsolationLevel } from "../sandbox.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import { userNamespaceRemedy } from "../user-namespaces.ts";
import { attackSource, type AttackTargets, judgeAttacks } from "./attacks.ts";
import type { Check } from "./check.ts";
import { exhaustMemory } from "./exhaust-memory.ts";
import { fillDisk } from "./fill-disk.ts";
import { judgeReports } from "./judge-report.ts";
import { type KernelReport, readKernelReport } from "./kernel-report.ts";
import { type MemoryTaker, startMemoryTaker } from "./memory-taker.ts";
import type { MakeProbeGuest, ProbeGuest } from "./probe-guest.ts";

/** The properties that the sandbox must have. */
export interface Promised extends ResourceLimits {
  readonly level: IsolationLevel;
  readonly tmpBytes: number;
  readonly descriptors: number;
  readonly held: Held;
  /** The results of the separate tests of the layers. */
  readonly layers: readonly Check[];
}

/** A file of the host that every user may read, and that is not in a guest's root. */
const HOST_FILE = "/bin/sh";
/** The largest temporary folder to fill. Its pages count as the guest's memory, so a guest may not be able to fill more. */
const MOST_FILLED_BYTES = 128 * 2 ** 20;

/**
 * Attacks the sandbox from inside, with targets that exist outside, and compares the kernel's reports with the promised
 * properties. A sandbox that does not hold must be detected before the service runs submitted code in it. Uses two guests
 * at the same time, because one is killed by exhausting its memory. That one runs native code and no Node, which would take ten
 * times the processor time of a start for the same attack.
 *
 * @param make starts a guest that runs code
 * @param launch starts the process that exhausts its memory
 * @throws {Error} if no guest can be started; the message has the cause and the remedy.
 */
export async function testWall(
  make: MakeProbeGuest,
  launch: (kind: "memory-taker") => Promise<GuestProcess>,
  promised: Promised,
): Promise<Check[]> {
  const [made, taker] = await Promise.allSettled([make(), startMemoryTaker(() => launch("memory-taker"))]);
  const neighbour = taker.status === "fulfilled" ? taker.value : null;
  try {
    if (made.status === "rejected") throw await explain(made.reason as Error);
    const guest = made.value;
    const kernel = await checkKernel(guest, neighbour, promised);
    const [attacks, memory] = await Promise.all([
      attackAndFill(guest, promised),
      neighbour
        ? exhaustMemory(neighbour, promised.memoryBytes, promised.held.memory)
        : [untried((taker as PromiseRejectedResult).reason as Error)],
    ]);
    return [...kernel, ...attacks, ...memory, ...promised.layers];
  } finally {
    if (made.status === "fulfilled") made.value.end();
    neighbour?.end();
  }
}

/** An attack that could not be made has not been stopped. */
function untried({ message }: Error): Check {
  const found = `it could not be tried: ${message}`;
  return { layer: "memory", tried: "use more than the limit", outcome: "open", found };
}

/** @throws {Error} that names every failed check. */
export function refuseOpenWall(checks: readonly Check[]): void {
  const open = checks.filter(({ outcome }) => outcome === "open");
  if (open.length === 0) return;
  const named = open.map(({ layer, tried, found }) => `${layer}: ${tried} (${found})`);
  throw new Error(`the sandbox does not hold: ${named.join(", ")}`);
}

/** Returns an error with the innermost cause, which has bubblewrap's own message. */
async function explain(error: Error): Promise<Error> {
  let root = error;
  while (root.cause instanceof Error) root = root.cause;
  const remedy = /namespace|uid map|not permitted/i.test(root.message) ? `; ${await userNamespaceRemedy()}` : "";
  return new Error(`no guest can be started: ${root.message}${remedy}`, { cause: error });
}

async function checkKernel(guest: ProbeGuest, neighbour: MemoryTaker | null, promised: Promised): Promise<Check[]> {
  const [ofGuest, ofNeighbour, own] = await Promise.all([
    reportOf(guest),
    neighbour && reportOf(neighbour),
    readKernelReport("self"),
  ]);
  return judgeReports({ guest: ofGuest, neighbour: ofNeighbour, own }, promised);
}

async function reportOf(guest: Pick<ProbeGuest, "process">): Promise<KernelReport> {
  const status = await guest.process.inspect();
  if (!status) throw new Error(`a guest ended before the self-test used it: ${(await guest.process.exited).how}`);
  return readKernelReport(status.pid);
}

/** Runs attacks as a task can make them with Node, and then the attack that ends the guest. */
async function attackAndFill(guest: ProbeGuest, promised: Promised): Promise<Check[]> {
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
      // A host without IPv6 has no target.
      listen(servers.tcp6, "::1").catch(() => 0),
      once(servers.unix.listen(name), "listening"),
    ]);
    // At the level `confined` the kernel does not refuse the writes. There `fillDisk` fills the disk last.
    const fillsTmp = level !== "confined" && tmpBytes <= Math.min(MOST_FILLED_BYTES, memoryBytes / 2);
    const targets: AttackTargets = {
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
    return judgeAttacks(await guest.run(attackSource(targets)), targets);
  } finally {
    for (const server of Object.values(servers)) server.close();
  }
}

/** Ends a connection. The test needs only the connection itself. */
function hangUp(socket: Socket): void {
  socket.on("error", () => {}).destroy();
}

async function listen(server: Server, host: string): Promise<number> {
  await once(server.listen(0, host), "listening");
  return (server.address() as AddressInfo).port;
}
