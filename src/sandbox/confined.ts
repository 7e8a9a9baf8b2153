import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";

import { GUEST_GROUP, heldBy } from "./cgroup/cgroup.ts";
import { openCgroups } from "./cgroup/open-cgroups.ts";
import { Ahead } from "./confined/ahead.ts";
import { DiskWatch, type WatchedGuest } from "./confined/disk-watch.ts";
import type { GuestHome } from "./confined/guest-home.ts";
import { openHomes } from "./confined/homes.ts";
import { whileStopped } from "./confined/pause.ts";
import { guestPolicy } from "./confined/policy.ts";
import { GuestChild, spawnGuest } from "./guest-child.ts";
import type { GuestResources, StartedGuest, LocalSandbox } from "./local-sandbox.ts";
import { confinementFault, encodePlan } from "./plan/encode.ts";
import { landlockAbi, type PlanResult, sendPlan } from "./plan/execute-plan.ts";
import { type GuestPolicy, guestPlan } from "./plan/guest-plan.ts";
import type { NotedCall } from "./plan/notes.ts";
import { sealedEnvironment } from "./plan/seal.ts";
import type { Plan } from "./plan/steps.ts";
import { PLAN_DESCRIPTOR } from "./plan/stub.ts";
import { isPrivileged, mayChangeRoot } from "./privilege.ts";
import { processTimeMs } from "./proc.ts";
import { guestArguments, resourcesInWords } from "./program/guest-program.ts";
import type { GuestExit } from "./sandbox.ts";
import type { Architecture } from "./seccomp/system-calls.ts";
import type { Check } from "./self-test/check.ts";
import { playAsGuest } from "./self-test/execute-as-guest.ts";
import { testLayers } from "./self-test/layers.ts";
import { processTag } from "./temp/process-tag.ts";
import type { RunFolder } from "./temp/run-folder.ts";
import { guestUids } from "./uids.ts";

/** With what a guest is confined; by default with all that this process and this kernel have. */
export interface Mechanisms {
  /** For each guest; needs root, or a part of its capabilities. */
  readonly ownUsers: boolean;
  /** A root of its own for each guest, besides. */
  readonly jail: boolean;
  /** 0: none. */
  readonly landlockAbi: number;
}

/** All that is needed for the process of one more guest. */
interface Prepared {
  readonly home: GuestHome;
  readonly plan: Plan;
  /** The plan, as the stub reads it. */
  readonly bytes: Buffer;
}

/**
 * The level for places where no namespace can be made, such as a container of an engine's default settings: a plan of
 * system calls that each process plays before it becomes a guest. It gives up every right, gets the seccomp filter and
 * limits, and of files keeps those that it needs, by a root of its own, by Landlock, or by both.
 *
 * @throws {Error} saying what is missing and how to get it.
 */
export async function openConfined(
  folder: RunFolder,
  limits: GuestResources,
  given?: Mechanisms,
): Promise<LocalSandbox> {
  const means = given ?? (await findMeans(folder.stub));
  if (!means.jail && means.landlockAbi === 0) throw new Error(NO_MEANS);
  const homes = await openHomes(folder, means.jail);
  const cgroups = await openCgroups(limits);
  const nextIdentity = means.ownUsers ? guestUids() : () => ({});
  const disk = new DiskWatch(limits.tmpBytes);
  const words = [homes.files.node, OPENSSL, ...guestArguments(`${homes.files.program}/guest/main.js`, limits)];
  const group = processTag(GUEST_GROUP);
  const leaving = new Set<Promise<void>>();
  let started = 0;

  /** The home and the policy of one more guest. */
  const prepare = (): { home: GuestHome; policy: GuestPolicy } => {
    const identity = nextIdentity();
    const home = homes.make(identity);
    return { home, policy: guestPolicy(homes.files, home, identity, limits, cgroups, means.landlockAbi) };
  };

  const start = ({ home, plan, bytes }: Prepared, own: readonly string[], frames: "pipe" | Socket): StartedGuest => {
    // The plan changes the user, and the folder: the stub itself may lie where that user cannot go.
    const ownFolder = home.root === null ? { TMPDIR: home.tmp } : {};
    const environment = { ...sealedEnvironment(homes.files.program), ...ownFolder };
    const command = {
      program: folder.stub,
      words: own,
      more: ["pipe"],
      identity: {},
      environment,
      cwd: "/",
    } as const;
    let child: ChildProcess;
    try {
      child = spawnGuest(command, frames);
    } catch (error) {
      keep(leaving, home.remove());
      throw error;
    }
    sendPlan(child.stdio[PLAN_DESCRIPTOR] as Socket, bytes);
    const explain = (code: number): string | null => confinementFault(plan, code);
    const guest = new GuestChild(child, Promise.resolve(child.pid!), cgroups, `${group}${++started}`, explain);
    const watched = {
      held: { pid: child.pid!, identity: home.owner, stub: folder.stub, folder: home.tmp },
      usedMs: () => processTimeMs(child.pid!),
      whileStopped: <T>(work: () => Promise<T>) => whileStopped(child, work),
    };
    return bounded(guest, watched, () => keep(leaving, home.remove()));
  };

  /** The kernel has no limit for a folder. */
  const bounded = (guest: GuestChild, watched: Omit<WatchedGuest, "exceeded">, gone: () => void): StartedGuest => {
    let outOfDisk = false;
    const exceeded = (): void => {
      outOfDisk = true;
      guest.kill();
    };
    const unwatch = disk.watch({ ...watched, exceeded });
    const exited = guest.exited.then((exit): GuestExit => {
      unwatch();
      gone();
      return outOfDisk ? { ...exit, outOfDisk } : exit;
    });
    return {
      socket: guest.socket,
      exited,
      seal: () => guest.seal(),
      setPriority: (priority) => guest.setPriority(priority),
      inspect: () => guest.inspect(),
      kill: () => guest.kill(),
    };
  };

  const proveLayers = async (): Promise<Check[]> => {
    const { home, policy } = prepare();
    const { home: neighbour } = prepare();
    const playAmongAll = (calls: readonly NotedCall[]): Promise<PlanResult> => {
      const inside = prepare();
      const { program: _, ...others } = inside.policy;
      const begin = (plan: Plan): StartedGuest => {
        return start({ home: inside.home, plan, bytes: encodePlan(plan) }, [], "pipe");
      };
      return playAsGuest(begin, guestPlan(others), calls);
    };
    const counted = cgroups !== null || means.ownUsers;
    try {
      return await testLayers({
        stub: folder.stub,
        policy,
        neighbour: neighbour.tmp,
        playAmongAll,
        threads: counted ? limits.threads : null,
      });
    } finally {
      await Promise.all([home.remove(), neighbour.remove()]);
    }
  };

  // Home and plan are two milliseconds of work, which a start need not wait for.
  const guests = new Ahead((): Prepared => {
    const { home, policy } = prepare();
    const plan = guestPlan(policy);
    return { home, plan, bytes: encodePlan(plan) };
  });

  return {
    facts: {
      level: "confined",
      mechanisms: meansInWords(means),
      fallbackReason: null,
      resources: resourcesInWords(cgroups),
      held: heldBy(cgroups),
      layers: await proveLayers(),
    },
    start: (frames) => start(guests.take(), words, frames),
    prefer: async (pids) => cgroups?.prefer(pids),
    close: async () => {
      guests.close();
      await Promise.all(leaving);
      await disk.close();
      await cgroups?.close();
      await folder.remove();
    },
  };
}

/** Else OpenSSL reads its settings at the start of Node, and a file that is there and may not be read is the end of it. */
const OPENSSL = "--openssl-config=/nonexistent";

const NO_MEANS =
  "guests cannot be confined: this kernel has no Landlock, or a filter around the service refuses it, and the service " +
  "may not give guests a root and a user of their own; start it as root (with CAP_SETUID, CAP_SETGID, CAP_SYS_CHROOT, " +
  "CAP_CHOWN and CAP_KILL, as container engines do), or on a kernel with Landlock (5.13 or newer, lsm=...,landlock)";

async function findMeans(stub: string): Promise<Mechanisms> {
  return {
    ownUsers: isPrivileged(),
    jail: mayChangeRoot(),
    landlockAbi: await landlockAbi(stub, process.arch as Architecture),
  };
}

function meansInWords({ ownUsers, jail, landlockAbi: abi }: Mechanisms): string {
  const user = ownUsers ? "a user of its own" : "the service's user";
  const landlock = abi > 0 ? `Landlock ${abi}` : "no Landlock";
  return `${jail ? "a root and " : ""}${user} for each guest, ${landlock}`;
}

function keep(all: Set<Promise<void>>, work: Promise<void>): void {
  all.add(work);
  void work.then(() => all.delete(work));
}
