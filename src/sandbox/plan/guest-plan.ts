import { type FilterOptions, seccompFilter } from "../seccomp/seccomp.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import { PROGRAM_ADDRESS } from "./encode.ts";
import { type LandlockPolicy, landlockSteps } from "./landlock.ts";
import { type MakeStep, type Memory, numbers, type Plan, type Step, stepsFor, text } from "./steps.ts";

/** What makes a process a guest. Each part can be left out, so that each can be tried alone. */
export interface GuestPolicy {
  readonly architecture: Architecture;
  /** The first descriptor that the guest does not get. */
  readonly closeFrom: number;
  /** Becomes the root of its files. Needs CAP_SYS_CHROOT. */
  readonly root?: string;
  /** Where it works, as seen from its root. */
  readonly workingFolder?: string;
  /** Needs CAP_SETUID and CAP_SETGID. */
  readonly identity?: { readonly uid: number; readonly gid: number };
  /** Hard and soft, in the units of setrlimit(2). */
  readonly rlimits?: Readonly<Partial<Record<RlimitName, number>>>;
  /** As in nice(1). */
  readonly niceness?: number;
  /** Whether every capability is given up that is left; a process that keeps its user keeps those, too. */
  readonly dropsCapabilities?: boolean;
  /** Whether the guest is killed when the thread ends that has started it. */
  readonly diesWithParent?: boolean;
  /** Also goes before Landlock and the filter, which want it from whoever is not root. */
  readonly noNewPrivileges?: boolean;
  readonly landlock?: LandlockPolicy;
  /** Its `pid` is `own` where the process counts like the host. */
  readonly filter?: Omit<FilterOptions, "programAddress">;
  /** Executed at last, with the words that follow the stub's own name. */
  readonly program?: string;
}

/** RLIMIT_* of asm-generic/resource.h. */
const RLIMITS = {
  cpu: 0,
  fsize: 1,
  data: 2,
  stack: 3,
  core: 4,
  nproc: 6,
  nofile: 7,
  memlock: 8,
  as: 9,
  locks: 10,
  sigpending: 11,
  msgqueue: 12,
} as const;

export type RlimitName = keyof typeof RLIMITS;

/** The order is part of the wall: what needs a right comes before it is given up, what forbids calls comes last. */
export function guestPlan(policy: GuestPolicy): Plan {
  const step = stepsFor(policy.architecture);
  const program = policy.program === undefined ? undefined : text(policy.program);
  const steps = [
    ...closeDescriptors(step, policy),
    ...changeRoot(step, policy),
    ...limitResources(step, policy),
    ...changeIdentity(step, policy),
    ...changeFolder(step, policy),
    ...dropCapabilities(step, policy),
    ...dieWithParent(step, policy),
    ...forbidNewPrivileges(step, policy),
    ...(policy.landlock ? landlockSteps(step, policy.landlock, policy.closeFrom) : []),
    ...installFilter(step, policy),
    ...becomeProgram(step, program),
  ];
  return program ? { steps, program } : { steps };
}

const LAST_DESCRIPTOR = 0xffff_ffff;

/** First, so that the plan's own socket is gone, and that it is known which descriptors are free. */
function closeDescriptors(step: MakeStep, { closeFrom }: GuestPolicy): Step[] {
  return [step("close_range", [closeFrom, LAST_DESCRIPTOR, 0])];
}

/** No descriptor of a folder is left by which one could climb out, nor a working folder outside. */
function changeRoot(step: MakeStep, { root }: GuestPolicy): Step[] {
  return root === undefined ? [] : [step("chroot", [text(root)]), step("chdir", [text("/")])];
}

const ITSELF = 0;
const PRIO_PROCESS = 0;

/** While the process may still set its priority, and before another user's number of processes counts. */
function limitResources(step: MakeStep, { rlimits = {}, niceness }: GuestPolicy): Step[] {
  const limits = Object.entries(rlimits).map(([name, value]) => {
    const both = numbers(value, value);
    return step("prlimit64", [ITSELF, RLIMITS[name as RlimitName], both, 0], `limit of ${name}`);
  });
  return niceness === undefined ? limits : [...limits, step("setpriority", [PRIO_PROCESS, ITSELF, niceness])];
}

/** Groups first: afterwards they could not be changed. Real, effective and saved, so that there is no way back. */
function changeIdentity(step: MakeStep, { identity }: GuestPolicy): Step[] {
  if (!identity) return [];
  const { uid, gid } = identity;
  return [step("setgroups", [0, 0]), step("setresgid", [gid, gid, gid]), step("setresuid", [uid, uid, uid])];
}

/** As the guest's user, for whom alone the folder may be. */
function changeFolder(step: MakeStep, { workingFolder }: GuestPolicy): Step[] {
  return workingFolder === undefined ? [] : [step("chdir", [text(workingFolder)], "working folder")];
}

const CAPABILITY_VERSION_3 = 0x2008_0522;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;

/** Leaving user 0 clears them, but neither staying 0 does nor leaving another: a service may have been given ambient ones. */
function dropCapabilities(step: MakeStep, { dropsCapabilities }: GuestPolicy): Step[] {
  if (!dropsCapabilities) return [];
  // struct __user_cap_header_struct: the version, and 0 for itself; then three sets of 64 bits, all empty.
  const header = numbers(CAPABILITY_VERSION_3);
  return [
    step("prctl", [PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0], "ambient capabilities"),
    step("capset", [header, numbers(0, 0, 0)], "capabilities"),
  ];
}

const PR_SET_PDEATHSIG = 1;
const PR_SET_NO_NEW_PRIVS = 38;
const SIGKILL = 9;

/** After the user has changed, which clears it. */
function dieWithParent(step: MakeStep, { diesWithParent }: GuestPolicy): Step[] {
  return diesWithParent ? [step("prctl", [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0], "parent-death signal")] : [];
}

/** Nothing that is executed can give rights: no set-user-id, no file capability, not the user 0 either. */
function forbidNewPrivileges(step: MakeStep, { noNewPrivileges, landlock, filter }: GuestPolicy): Step[] {
  if (!noNewPrivileges && !landlock && !filter) return [];
  return [step("prctl", [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0], "no_new_privs")];
}

const SECCOMP_SET_MODE_FILTER = 1;

/** Last of the layers: it refuses what the others are made with. */
function installFilter(step: MakeStep, { architecture, filter }: GuestPolicy): Step[] {
  if (!filter) return [];
  const { program, pidOffsets } = seccompFilter(architecture, { ...filter, programAddress: PROGRAM_ADDRESS });
  const instructions: Memory = { bytes: program };
  // struct sock_fprog: how many there are, and where.
  const length = numbers(program.length / 8, 0).bytes;
  const described: Memory = { bytes: length, pointers: [{ at: 8, to: instructions }] };
  // The stub writes what the kernel answers into the instructions that compare with it.
  const own = pidOffsets.map((at) => ({ ...step("getpid", []), result: { memory: instructions, at } }));
  return [...own, step("seccomp", [SECCOMP_SET_MODE_FILTER, 0, described], "system-call filter")];
}

function becomeProgram(step: MakeStep, program: Memory | undefined): Step[] {
  return program ? [step("execve", [program, "arguments", "environment"], "start of the program")] : [];
}
