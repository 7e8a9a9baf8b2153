/**
 * Measures what each isolation level adds to the start of a guest, until the guest is ready. The reference is a bare Node
 * that loads the same program without isolation. Each round starts all of them in another order. A pause follows each start,
 * because a guest's files are removed after its end. Machines are shared and noisy, so the result is the difference, at
 * several quantiles.
 *
 *   npm run bench:start [-- <rounds>]
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";

import { openConfined } from "../src/sandbox/confined.ts";
import type { GuestResources, LocalSandbox } from "../src/sandbox/local-sandbox.ts";
import { openNamespaces } from "../src/sandbox/namespaces.ts";
import { landlockAbi } from "../src/sandbox/plan/execute-plan.ts";
import { mayChangeRoot } from "../src/sandbox/privilege.ts";
import { guestArguments } from "../src/sandbox/program/guest-program.ts";
import type { Architecture } from "../src/sandbox/seccomp/system-calls.ts";
import { prepareRunFolder, type RunFolder } from "../src/sandbox/temp/run-folder.ts";
import { Times } from "./figures.ts";

const [rounds = 60] = process.argv.slice(2).map(Number);
if (!(rounds >= 1)) throw new TypeError("usage: npm run bench:start [-- <rounds>]");
/** The maximum addition, in ms, of the isolation levels that need no privilege. */
const BUDGET_MS = 4;
const REST_MS = 120;
const QUANTILES = [0.1, 0.25, 0.5] as const;
const BARE = "bare Node";
const MIB = 2 ** 20;
const LIMITS: GuestResources = {
  memoryBytes: 128 * MIB,
  threads: 48,
  cpuCores: 1,
  tmpBytes: 64 * MIB,
  descriptors: 256,
  resultBytes: MIB,
  logs: { bytes: MIB, linesPerSecond: 1_000 },
};

/** Starts a guest, waits until it is ready, and ends it. @returns the time until it was ready, in milliseconds. */
type Start = () => Promise<number>;

const folder = await prepareRunFolder();
const walls = await openWalls();
const contestants = new Map<string, Start>([[BARE, startBare]]);
for (const [name, wall] of walls) contestants.set(name, () => startBehind(wall));
report(await measure());
for (const wall of walls.values()) await wall.close();
await folder.remove();

/** Returns the isolation levels that this machine and this user support. */
async function openWalls(): Promise<ReadonlyMap<string, LocalSandbox>> {
  const opened = new Map<string, LocalSandbox>();
  const add = async (name: string, open: (own: RunFolder) => Promise<LocalSandbox>): Promise<void> => {
    const own = await prepareRunFolder();
    try {
      opened.set(name, await open(own));
    } catch (error) {
      await own.remove();
      console.log(`${name}: not supported here: ${(error as Error).message}`);
    }
  };
  await add("namespaces", (own) => openNamespaces(own, LIMITS));
  if (mayChangeRoot()) await add("confined, with its root and its user", (own) => openConfined(own, LIMITS));
  const abi = await landlockAbi(folder.stub, process.arch as Architecture);
  const means = { ownUsers: false, jail: false, landlockAbi: abi };
  await add("confined, the service's user", (own) => openConfined(own, LIMITS, means));
  return opened;
}

async function measure(): Promise<ReadonlyMap<string, Times>> {
  const times = new Map([...contestants.keys()].map((name) => [name, new Times()]));
  // The first start of each fills the caches of the kernel, and is not measured.
  for (let round = -1; round < rounds; round++) {
    for (const [name, start] of shuffled([...contestants])) {
      await setTimeout(REST_MS);
      const ms = await start();
      if (round >= 0) times.get(name)!.add(ms);
    }
  }
  return times;
}

async function startBare(): Promise<number> {
  const words = ["--openssl-config=/nonexistent", ...guestArguments(`${folder.program}/guest/main.js`, LIMITS)];
  const startMs = performance.now();
  const child = spawn(folder.node, words, {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    cwd: "/",
    env: {},
    detached: true,
  });
  await once(child.stdio[3] as Readable, "data");
  const tookMs = performance.now() - startMs;
  child.kill("SIGKILL");
  await once(child, "close");
  return tookMs;
}

async function startBehind(wall: LocalSandbox): Promise<number> {
  const startMs = performance.now();
  const guest = wall.start("pipe");
  await once(guest.socket!, "data");
  const tookMs = performance.now() - startMs;
  guest.kill();
  await guest.exited;
  return tookMs;
}

function report(times: ReadonlyMap<string, Times>): void {
  const bare = times.get(BARE)!;
  console.log(
    `${rounds} starts each until ready, ms at quantiles ${QUANTILES.join(", ")}; in brackets: more than bare Node`,
  );
  for (const [name, all] of times) {
    const cells = QUANTILES.map((q) => {
      const ms = all.percentile(q);
      return all === bare ? ms.toFixed(1) : `${ms.toFixed(1)} (${signed(ms - bare.percentile(q))})`;
    });
    console.log(`  ${name.padEnd(36)} ${cells.join("   ")}`);
  }
  console.log(`  budget of the confined level: ${BUDGET_MS} ms more than bare Node`);
}

function signed(ms: number): string {
  return (ms < 0 ? "" : "+") + ms.toFixed(1);
}

/** Shuffles a list (Fisher and Yates). */
function shuffled<Item>(items: Item[]): Item[] {
  for (let at = items.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1));
    [items[at], items[other]] = [items[other]!, items[at]!];
  }
  return items;
}
