import { realpath } from "node:fs/promises";
import type { Socket } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";

import { findBubblewrap } from "./bubblewrap.ts";
import { type Cgroups, GUEST_GROUP, heldBy } from "./cgroup/cgroup.ts";
import { openCgroups } from "./cgroup/open-cgroups.ts";
import { GuestChild, spawnGuest } from "./guest-child.ts";
import type { GuestKind } from "./guest-kinds.ts";
import { GUEST_MALLOC } from "./guest-malloc.ts";
import { resourcesOf } from "./kind-resources.ts";
import type { GuestResources, StartedGuest, LocalSandbox } from "./local-sandbox.ts";
import { confinementFault, encodePlan } from "./plan/encode.ts";
import { landlockAbi, type PlanResult, sendPlan } from "./plan/execute-plan.ts";
import { type GuestPolicy, guestPlan } from "./plan/guest-plan.ts";
import type { LandlockRule } from "./plan/landlock.ts";
import type { NotedCall } from "./plan/notes.ts";
import { sealedEnvironment } from "./plan/seal.ts";
import type { Plan } from "./plan/steps.ts";
import { PLAN_DESCRIPTOR } from "./plan/stub.ts";
import { esbuildArguments, esbuildEnvironment } from "./program/esbuild-program.ts";
import { describeResources, guestArguments } from "./program/guest-program.ts";
import { sharedLibraries } from "./program/libraries.ts";
import { guestLimits } from "./rlimits.ts";
import type { Architecture } from "./seccomp/system-calls.ts";
import type { Check } from "./self-test/check.ts";
import { executeAsGuest } from "./self-test/execute-as-guest.ts";
import { testLayers } from "./self-test/layers.ts";
import { memoryTakerPlan } from "./self-test/memory-taker.ts";
import { testNesting } from "./self-test/nesting.ts";
import { processTag } from "./temp/process-tag.ts";
import type { RunFolder } from "./temp/run-folder.ts";
import { guestUids } from "./uids.ts";

/** The descriptor on which bwrap writes its information. The stub inherits the descriptors below it. */
const INFO = PLAN_DESCRIPTOR + 1;
/** The first version of Landlock whose rules can allow tasks to move a file to another folder. */
const FIRST_USEFUL_LANDLOCK = 2;
const STUB = "/bin/stub";
const NODE = "/bin/node";
const ESBUILD = "/bin/esbuild";
/** The descriptor of the frames, which become the standard streams of esbuild. */
const FRAMES = 3;
/** The least size of a tmpfs: 0 would be half of the memory of the host. */
const EMPTY_BYTES = 4_096;
const PROGRAM = "/guest";
const ENVIRONMENT = { ...GUEST_MALLOC, ...sealedEnvironment(PROGRAM) };

/**
 * Opens the level that uses bubblewrap: user, mount, PID, network, IPC, UTS and cgroup namespaces, an empty root, and no
 * capabilities. Inside, a plan sets limits, Landlock and the seccomp filter. Each guest gets a control group if this process
 * can create it.
 *
 * @param landlock the version of Landlock to use, by default the kernel's; 0 for none.
 * @throws {Error} that names what is missing and how to get it.
 */
export async function openNamespaces(
  folder: RunFolder,
  limits: GuestResources,
  landlock?: number,
): Promise<LocalSandbox> {
  const bwrap = await findBubblewrap();
  const cgroups = await openCgroups(limits);
  const libraries = sharedLibraries();
  const abi = landlock ?? (await landlockAbi(folder.stub, ARCHITECTURE));
  const policy = guestPolicy(libraries, limits, cgroups, abi);
  const nodeBinds = await bindsOfNode(folder, libraries);
  const nextIdentity = guestUids();
  const group = processTag(GUEST_GROUP);
  let started = 0;

  const start = ({ plan, bytes, args, resources }: Recipe, frames: "pipe" | Socket): StartedGuest => {
    const command = { program: bwrap, args, extraStdio: ["pipe", "pipe"] as const };
    const child = spawnGuest({ ...command, identity: nextIdentity(), environment: {}, cwd: "/" }, frames);
    sendPlan(child.stdio[PLAN_DESCRIPTOR] as Socket, bytes);
    const pid = readPid(child.stdio[INFO] as Socket);
    const explain = (code: number): string | null => confinementFault(plan, code);
    const options = { explain, limits: resources, hasTmpfs: true, stub: folder.stub };
    return new GuestChild(child, pid, cgroups, `${group}${++started}`, options);
  };

  const nodeWall = bwrapArguments(nodeBinds, ENVIRONMENT, limits);
  const startWith = (plan: Plan): StartedGuest => {
    return start({ plan, bytes: encodePlan(plan), args: nodeWall, resources: limits }, "pipe");
  };
  const executeUnder = (applied: GuestPolicy, calls: readonly NotedCall[]): Promise<PlanResult> => {
    return executeAsGuest(startWith, guestPlan(applied), calls);
  };
  const proveLayers = async (): Promise<Check[]> => {
    const { filter: _, ...unfiltered } = policy;
    const [nesting, layers] = await Promise.all([
      testNesting(ARCHITECTURE, (calls) => executeUnder(unfiltered, calls)),
      testLayers({
        stub: folder.stub,
        policy,
        executeUnderAll: (calls) => executeUnder(policy, calls),
        threads: cgroups ? limits.threads : null,
      }),
    ]);
    return [nesting, ...layers];
  };

  const recipeOf = (kind: GuestKind): Recipe => {
    const resources = resourcesOf(kind, limits);
    if (kind === "esbuild") return esbuildRecipe(folder, resources, cgroups, abi);
    if (kind === "memory-taker") {
      const taking = memoryTakerPlan(guestPlan(policy), limits, heldBy(cgroups).memory);
      return { plan: taking, bytes: encodePlan(taking), args: nodeWall, resources };
    }
    const plan = guestPlan({ ...guestPolicy(libraries, resources, cgroups, abi), program: NODE });
    const words = [NODE, ...guestArguments(`${PROGRAM}/guest/main.js`, resources, !heldBy(cgroups).cpu)];
    const args = [...bwrapArguments(nodeBinds, ENVIRONMENT, resources), ...words];
    return { plan, bytes: encodePlan(plan), args, resources };
  };
  // All guests of a kind share a recipe.
  const recipes = new Map<GuestKind, Recipe>([["task", recipeOf("task")]]);
  const recipe = (kind: GuestKind): Recipe => {
    const known = recipes.get(kind) ?? recipeOf(kind);
    recipes.set(kind, known);
    return known;
  };
  return {
    facts: {
      level: "namespaces",
      mechanisms: abi > 0 ? `bubblewrap, Landlock ${abi}` : "bubblewrap",
      fallbackReason: null,
      resources: describeResources(cgroups),
      held: heldBy(cgroups),
      layers: await proveLayers(),
    },
    start: (frames, kind = "task") => start(recipe(kind), frames),
    prefer: async (pids) => cgroups?.prefer(pids),
    close: async () => {
      await cgroups?.close();
      await folder.remove();
    },
  };
}

const ARCHITECTURE = process.arch as Architecture;

/** All that the guests of one kind have in common. */
interface Recipe {
  readonly plan: Plan;
  /** The plan, encoded for the stub. */
  readonly bytes: Buffer;
  /** The arguments of bubblewrap, and then those of the program. */
  readonly args: readonly string[];
  readonly resources: GuestResources;
}

/** Returns the recipe of esbuild: its root has the binary, the stub, and an empty `/tmp` of which Landlock allows nothing. */
function esbuildRecipe(folder: RunFolder, resources: GuestResources, cgroups: Cgroups | null, abi: number): Recipe {
  const program = folder.esbuild();
  const plan = guestPlan({
    architecture: ARCHITECTURE,
    standardStreams: FRAMES,
    closeFrom: FRAMES,
    ...guestLimits(resources, cgroups, false),
    dropsCapabilities: true,
    diesWithParent: true,
    ...(abi >= FIRST_USEFUL_LANDLOCK ? { landlock: { abi, rules: [{ path: ESBUILD, rights: "execute" }] } } : {}),
    filter: { pid: 1, ownsFiles: false },
    program: ESBUILD,
  });
  const binds = [program.file, ESBUILD, folder.stub, STUB];
  const words = [ESBUILD, ...esbuildArguments(program)];
  const args = [...bwrapArguments(binds, esbuildEnvironment(resources), { tmpBytes: EMPTY_BYTES }), ...words];
  return { plan, bytes: encodePlan(plan), args, resources };
}

/** Returns the policy inside the namespaces. Landlock is a second layer: the mount namespace already limits the files. */
function guestPolicy(
  libraries: readonly string[],
  limits: GuestResources,
  cgroups: Cgroups | null,
  abi: number,
): GuestPolicy {
  const rules: LandlockRule[] = [
    // The kernel executes the loader, which is one of the libraries.
    ...[NODE, ...libraries].map((file) => ({ path: file, rights: "execute" }) as const),
    { path: PROGRAM, rights: "tree" },
    { path: "/tmp", rights: "write" },
  ];
  return {
    architecture: ARCHITECTURE,
    closeFrom: PLAN_DESCRIPTOR,
    ...guestLimits(limits, cgroups, false),
    dropsCapabilities: true,
    diesWithParent: true,
    ...(abi >= FIRST_USEFUL_LANDLOCK ? { landlock: { abi, rules } } : {}),
    // The guest is process 1 of its PID namespace, and can write only to /tmp.
    filter: { pid: 1, ownsFiles: true },
  };
}

/** Reads the host pid of process 1 of the namespace, which bubblewrap reports. */
async function readPid(info: Socket): Promise<number> {
  return (JSON.parse(await text(info)) as { "child-pid": number })["child-pid"];
}

/** Returns the files of a guest that runs Node: the path on the host, the path in the guest, and so on. */
async function bindsOfNode(folder: RunFolder, libraries: readonly string[]): Promise<string[]> {
  const binds = [folder.node, NODE, folder.stub, STUB];
  for (const library of libraries) binds.push(await realpath(library), library);
  binds.push(path.join(folder.program, "guest"), `${PROGRAM}/guest`);
  return binds;
}

function bwrapArguments(
  binds: readonly string[],
  environment: Readonly<Record<string, string>>,
  limits: Pick<GuestResources, "tmpBytes">,
): string[] {
  return [
    ...["--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000", "--unshare-all"],
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--hostname", "task", "--as-pid-1"],
    ...pairs(binds).flatMap(([from, to]) => ["--ro-bind", from, to]),
    ...[
      "--perms",
      "1777",
      "--size",
      String(limits.tmpBytes),
      "--tmpfs",
      "/tmp",
      "--remount-ro",
      "/",
      "--chdir",
      "/tmp",
    ],
    ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--info-fd", String(INFO), "--", STUB],
  ];
}

function pairs(list: readonly string[]): [string, string][] {
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index]!, list[2 * index + 1]!]);
}
