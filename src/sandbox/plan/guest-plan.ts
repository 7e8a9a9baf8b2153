import { type FilterOptions, seccompFilter } from "../seccomp/seccomp.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import { PROGRAM_ADDRESS } from "./encode.ts";
import { type LandlockPolicy, landlockSteps } from "./landlock.ts";
import { type MakeStep, type Memory, numbers, type Plan, type Step, stepsFor, text } from "./steps.ts";

/** The restrictions that turn a process into a guest. Each is optional, so that tests can apply it alone. */
export interface GuestPolicy {
  readonly architecture: Architecture;
  /** The first descriptor that is closed; all above are closed too. */
  readonly closeFrom: number;
  /** The descriptor that also becomes the standard input and the standard output. */
  readonly standardStreams?: number;
  /** The folder that becomes the guest's root. Needs CAP_SYS_CHROOT. */
  readonly root?: string;
  /** The guest's working folder, as seen from its root. */
  readonly workingFolder?: string;
  /** The guest's user. Needs CAP_SETUID and CAP_SETGID. */
  readonly identity?: { readonly uid: number; readonly gid: number };
  /** The hard and soft limits, in the units of setrlimit(2). */
  readonly rlimits?: Readonly<Partial<Record<RlimitName, number>>>;
  /** The guest's niceness (nice(1)). */
  readonly niceness?: number;
  /** Whether the process gives up its remaining capabilities. A process that keeps its user keeps them otherwise. */
  readonly dropsCapabilities?: boolean;
  /** Whether the kernel kills the guest when the thread that started it ends. */
  readonly diesWithParent?: boolean;
  /** Whether the guest can gain no privileges. Landlock and the filter imply it, because they require it without root. */
  readonly noNewPrivileges?: boolean;
  readonly landlock?: LandlockPolicy;
  /** The options of the filter. `pid` is `own` if the guest is in the host's PID namespace. */
  readonly filter?: Omit<FilterOptions, "programAddress">;
  /** The program that the last step executes, with the stub's arguments. */
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

/**
 * Returns the plan of a policy. The order matters for security: steps that need a privilege come before the privilege is
 * given up, and restrictions that forbid system calls come last.
 */
export function guestPlan(policy: GuestPolicy): Plan {
  const step = stepsFor(policy.architecture);
  const program = policy.program === undefined ? undefined : text(policy.program);
  const steps = [
    ...redirect(step, policy),
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

/** Comes before the descriptors are closed, because the policy may close the original. */
function redirect(step: MakeStep, { standardStreams }: GuestPolicy): Step[] {
  if (standardStreams === undefined) return [];
  return [0, 1].map((stream) => step("dup3", [standardStreams, stream, 0], `standard stream ${stream}`));
}

const LAST_DESCRIPTOR = 0xffff_ffff;

/** Comes first, so that the plan's own socket is closed, and so that later steps know which descriptors are free. */
function closeDescriptors(step: MakeStep, { closeFrom }: GuestPolicy): Step[] {
  return [step("close_range", [closeFrom, LAST_DESCRIPTOR, 0])];
}

/** No open folder and no working folder outside the root remains, so that the guest cannot leave the root. */
function changeRoot(step: MakeStep, { root }: GuestPolicy): Step[] {
  return root === undefined ? [] : [step("chroot", [text(root)]), step("chdir", [text("/")])];
}

const ITSELF = 0;
const PRIO_PROCESS = 0;

/** Comes before the change of user: the process may still set its priority, and is not yet counted for the guest's user. */
function limitResources(step: MakeStep, { rlimits = {}, niceness }: GuestPolicy): Step[] {
  const limits = Object.entries(rlimits).map(([name, value]) => {
    const both = numbers(value, value);
    return step("prlimit64", [ITSELF, RLIMITS[name as RlimitName], both, 0], `limit of ${name}`);
  });
  return niceness === undefined ? limits : [...limits, step("setpriority", [PRIO_PROCESS, ITSELF, niceness])];
}

/** Sets the groups first, because the new user cannot. Sets real, effective and saved ids, so that the change is final. */
function changeIdentity(step: MakeStep, { identity }: GuestPolicy): Step[] {
  if (!identity) return [];
  const { uid, gid } = identity;
  return [step("setgroups", [0, 0]), step("setresgid", [gid, gid, gid]), step("setresuid", [uid, uid, uid])];
}

/** Comes after the change of user, because only the guest's user may have access to the folder. */
function changeFolder(step: MakeStep, { workingFolder }: GuestPolicy): Step[] {
  return workingFolder === undefined ? [] : [step("chdir", [text(workingFolder)], "working folder")];
}

const CAPABILITY_VERSION_3 = 0x2008_0522;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;

/** A change from user 0 to another user clears capabilities. Other processes, such as one with ambient ones, keep them. */
function dropCapabilities(step: MakeStep, { dropsCapabilities }: GuestPolicy): Step[] {
  if (!dropsCapabilities) return [];
  // struct __user_cap_header_struct: the version, and 0 for this process. Then three empty sets of 64 bits.
  const header = numbers(CAPABILITY_VERSION_3);
  return [
    step("prctl", [PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0], "ambient capabilities"),
    step("capset", [header, numbers(0, 0, 0)], "capabilities"),
  ];
}

const PR_SET_PDEATHSIG = 1;
const PR_SET_NO_NEW_PRIVS = 38;
const SIGKILL = 9;

/** Comes after the change of user, because that clears the signal. */
function dieWithParent(step: MakeStep, { diesWithParent }: GuestPolicy): Step[] {
  return diesWithParent ? [step("prctl", [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0], "parent-death signal")] : [];
}

/** Execution of a file can no longer grant privileges, by set-user-id, file capabilities or user 0. */
function forbidNewPrivileges(step: MakeStep, { noNewPrivileges, landlock, filter }: GuestPolicy): Step[] {
  if (!noNewPrivileges && !landlock && !filter) return [];
  return [step("prctl", [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0], "no_new_privs")];
}

const SECCOMP_SET_MODE_FILTER = 1;

/** Comes last, because the filter refuses the system calls of the other steps. */
function installFilter(step: MakeStep, { architecture, filter }: GuestPolicy): Step[] {
  if (!filter) return [];
  const { program, pidOffsets } = seccompFilter(architecture, { ...filter, programAddress: PROGRAM_ADDRESS });
  const instructions: Memory = { bytes: program };
  // struct sock_fprog: the number of instructions and their address.
  const length = numbers(program.length / 8, 0).bytes;
  const described: Memory = { bytes: length, pointers: [{ at: 8, to: instructions }] };
  // The stub writes the result of getpid into the instructions that compare with it.
  const own = pidOffsets.map((at) => ({ ...step("getpid", []), result: { memory: instructions, at } }));
  return [...own, step("seccomp", [SECCOMP_SET_MODE_FILTER, 0, described], "system-call filter")];
}

function becomeProgram(step: MakeStep, program: Memory | undefined): Step[] {
  return program ? [step("execve", [program, "arguments", "environment"], "start of the program")] : [];
}
