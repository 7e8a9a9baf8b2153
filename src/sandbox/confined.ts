import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";

import { GUEST_GROUP, heldBy } from "./cgroup/cgroup.ts";
import { openCgroups } from "./cgroup/open-cgroups.ts";
import { Ahead } from "./confined/ahead.ts";
import { DiskWatch, type WatchedGuest } from "./confined/disk-watch.ts";
import type { GuestHome } from "./confined/guest-home.ts";
import { openHomes } from "./confined/homes.ts";
import { whileStopped } from "./confined/pause.ts";
import { esbuildPolicy, guestPolicy } from "./confined/policy.ts";
import { GuestChild, spawnGuest } from "./guest-child.ts";
import type { GuestKind } from "./guest-kinds.ts";
import { GUEST_MALLOC } from "./guest-malloc.ts";
import { resourcesOf } from "./kind-resources.ts";
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
import { esbuildArguments, esbuildEnvironment } from "./program/esbuild-program.ts";
import { guestArguments, describeResources } from "./program/guest-program.ts";
import type { GuestExit } from "./sandbox.ts";
import type { Architecture } from "./seccomp/system-calls.ts";
import type { Check } from "./self-test/check.ts";
import { executeAsGuest } from "./self-test/execute-as-guest.ts";
import { testLayers } from "./self-test/layers.ts";
import { memoryTakerPlan } from "./self-test/memory-taker.ts";
import { processTag } from "./temp/process-tag.ts";
import type { RunFolder } from "./temp/run-folder.ts";
import { guestUids } from "./uids.ts";

/** The mechanisms that confine a guest. */
export interface Mechanisms {
  /** Whether each guest has a separate user. Needs root, or some of its capabilities. */
  readonly ownUsers: boolean;
  /** Whether each guest also has a separate root directory. */
  readonly jail: boolean;
  /** The version of Landlock to use; 0 for none. */
  readonly landlockAbi: number;
}

/** Everything that the process of the next guest needs. */
interface Prepared {
  readonly home: GuestHome;
  readonly plan: Plan;
  /** The plan, encoded for the stub. */
  readonly bytes: Buffer;
  readonly args: readonly string[];
}

/**
 * Opens the level for systems that do not allow namespaces, such as a container with an engine's default settings. Each
 * process executes a plan of system calls before it becomes a guest: it gives up every privilege, sets its limits and
 * installs the seccomp filter. It keeps access only to the files that it needs, by a separate root, by Landlock, or by both.
 *
 * @param override the mechanisms to use; by default all that this process and this kernel support.
 * @throws {Error} that names what is missing and how to get it.
 */
export async function openConfined(
  folder: RunFolder,
  limits: GuestResources,
  override?: Mechanisms,
): Promise<LocalSandbox> {
  const mechanisms = override ?? (await detectMechanisms(folder.stub));
  if (!mechanisms.jail && mechanisms.landlockAbi === 0) throw new Error(NO_MECHANISMS);
  const homes = await openHomes(folder, mechanisms.jail);
  const cgroups = await openCgroups(limits);
  const nextIdentity = mechanisms.ownUsers ? guestUids() : () => ({});
  const disk = new DiskWatch(limits.tmpBytes);
  const group = processTag(GUEST_GROUP);
  const removals = new Set<Promise<void>>();
  let started = 0;

  /** Creates the home and the policy of the next guest. */
  const prepare = (kind: GuestKind = "task"): { home: GuestHome; policy: GuestPolicy } => {
    const identity = nextIdentity();
    const resources = resourcesOf(kind, limits);
    const { landlockAbi: abi } = mechanisms;
    if (kind === "esbuild") {
      const { home, file } = homes.makeForEsbuild(identity);
      return { home, policy: esbuildPolicy(file, home, identity, resources, cgroups, abi) };
    }
    const home = homes.make(identity);
    return { home, policy: guestPolicy(homes.files, home, identity, resources, cgroups, abi) };
  };

  const takerPlan = (policy: GuestPolicy): Plan => {
    const { program: _, ...others } = policy;
    return memoryTakerPlan(guestPlan(others), limits, heldBy(cgroups).memory);
  };

  const argumentsOf = (kind: GuestKind, { program }: GuestPolicy): string[] => {
    if (kind === "memory-taker") return [];
    if (kind === "esbuild") return [program!, ...esbuildArguments(folder.esbuild())];
    const main = `${homes.files.program}/guest/main.js`;
    return [homes.files.node, OPENSSL, ...guestArguments(main, resourcesOf(kind, limits), !heldBy(cgroups).cpu)];
  };

  const environmentOf = (kind: GuestKind, home: GuestHome): Readonly<Record<string, string>> => {
    if (kind === "esbuild") return esbuildEnvironment(resourcesOf(kind, limits));
    return {
      ...GUEST_MALLOC,
      ...sealedEnvironment(homes.files.program),
      ...(home.root === null ? { TMPDIR: home.tmp } : {}),
    };
  };

  const start = (
    { home, plan, bytes }: Pick<Prepared, "home" | "plan" | "bytes">,
    args: readonly string[],
    frames: "pipe" | Socket,
    kind: GuestKind,
  ): StartedGuest => {
    // The plan changes the user and the folder, not `spawn`: the guest's user may have no access to the stub's folder.
    const environment = environmentOf(kind, home);
    const command = {
      program: folder.stub,
      args,
      extraStdio: ["pipe"],
      identity: {},
      environment,
      cwd: "/",
    } as const;
    let child: ChildProcess;
    try {
      child = spawnGuest(command, frames);
    } catch (error) {
      track(removals, home.remove());
      throw error;
    }
    sendPlan(child.stdio[PLAN_DESCRIPTOR] as Socket, bytes);
    const explain = (code: number): string | null => confinementFault(plan, code);
    const name = `${group}${++started}`;
    const resources = resourcesOf(kind, limits);
    const { stub } = folder;
    const guest = new GuestChild(child, Promise.resolve(child.pid!), cgroups, name, {
      explain,
      limits: resources,
      stub,
    });
    const watched = {
      disk: { pid: child.pid!, identity: home.owner, stub: folder.stub, folder: home.tmp },
      usedMs: () => processTimeMs(child.pid!),
      whileStopped: <T>(work: () => Promise<T>) => whileStopped(child, work),
    };
    return limitDisk(guest, watched, () => track(removals, home.remove()));
  };

  /** Kills a guest that exceeds its temporary disk. The kernel has no limit for the size of a folder. */
  const limitDisk = (
    guest: GuestChild,
    watched: Omit<WatchedGuest, "onExceeded">,
    onExit: () => void,
  ): StartedGuest => {
    let outOfDisk = false;
    const onExceeded = (): void => {
      outOfDisk = true;
      guest.kill();
    };
    const unwatch = disk.watch({ ...watched, onExceeded });
    const exited = guest.exited.then((exit): GuestExit => {
      unwatch();
      onExit();
      return outOfDisk ? { ...exit, outOfDisk } : exit;
    });
    return {
      socket: guest.socket,
      exited,
      seal: () => guest.seal(),
      setPriority: (priority) => guest.setPriority(priority),
      inspect: () => guest.inspect(),
      measure: () => guest.measure(),
      tmpfsBytes: () => guest.tmpfsBytes(),
      interrupt: () => guest.interrupt(),
      kill: () => guest.kill(),
    };
  };

  const proveLayers = async (): Promise<Check[]> => {
    const { home, policy } = prepare();
    const { home: neighbour } = prepare();
    const executeUnderAll = (calls: readonly NotedCall[]): Promise<PlanResult> => {
      const inside = prepare();
      const { program: _, ...others } = inside.policy;
      const startWith = (plan: Plan): StartedGuest => {
        return start({ home: inside.home, plan, bytes: encodePlan(plan) }, [], "pipe", "task");
      };
      return executeAsGuest(startWith, guestPlan(others), calls);
    };
    const areThreadsCounted = cgroups !== null || mechanisms.ownUsers;
    try {
      return await testLayers({
        stub: folder.stub,
        policy,
        neighbour: neighbour.tmp,
        executeUnderAll,
        threads: areThreadsCounted ? limits.threads : null,
      });
    } finally {
      await Promise.all([home.remove(), neighbour.remove()]);
    }
  };

  // Home and plan take two milliseconds. They are prepared ahead, so that a start does not wait for them.
  const prepareStart = (kind: GuestKind): Prepared => {
    const { home, policy } = prepare(kind);
    const plan = kind === "memory-taker" ? takerPlan(policy) : guestPlan(policy);
    return { home, plan, bytes: encodePlan(plan), args: argumentsOf(kind, policy) };
  };
  const guests = new Ahead(() => prepareStart("task"));

  return {
    facts: {
      level: "confined",
      mechanisms: describeMechanisms(mechanisms),
      fallbackReason: null,
      resources: describeResources(cgroups),
      held: heldBy(cgroups),
      layers: await proveLayers(),
    },
    start: (frames, kind = "task") => {
      const prepared = kind === "task" ? guests.take() : prepareStart(kind);
      return start(prepared, prepared.args, frames, kind);
    },
    prefer: async (pids) => cgroups?.prefer(pids),
    close: async () => {
      guests.close();
      await Promise.all(removals);
      await disk.close();
      await cgroups?.close();
      await folder.remove();
    },
  };
}

/** Names a file that does not exist. Node ends at its start if OpenSSL's default file exists but cannot be read. */
const OPENSSL = "--openssl-config=/nonexistent";

const NO_MECHANISMS =
  "guests cannot be confined: this kernel has no Landlock, or a filter around the service refuses it, and the service " +
  "cannot give each guest a separate root directory and user; start it as root (with CAP_SETUID, CAP_SETGID, " +
  "CAP_SYS_CHROOT, CAP_CHOWN and CAP_KILL, as container engines do), or on a kernel with Landlock " +
  "(5.13 or newer, lsm=...,landlock)";

async function detectMechanisms(stub: string): Promise<Mechanisms> {
  return {
    ownUsers: isPrivileged(),
    jail: mayChangeRoot(),
    landlockAbi: await landlockAbi(stub, process.arch as Architecture),
  };
}

function describeMechanisms({ ownUsers, jail, landlockAbi: abi }: Mechanisms): string {
  const user = ownUsers ? "a separate user" : "the service's user";
  const landlock = abi > 0 ? `Landlock ${abi}` : "no Landlock";
  return `${jail ? "a separate root and " : ""}${user} for each guest, ${landlock}`;
}

function track(all: Set<Promise<void>>, work: Promise<void>): void {
  all.add(work);
  void work.then(() => all.delete(work));
}
