import { formatSize } from "../../units.ts";
import type { ResourceLimits } from "../cgroup/cgroup.ts";
import type { Held, IsolationLevel } from "../sandbox.ts";
import type { Check, Layer } from "./check.ts";
import { type KernelReport, type NamespaceKind, NAMESPACES } from "./kernel-report.ts";

const LAYER_OF: Readonly<Record<NamespaceKind, Layer>> = {
  user: "user namespace",
  mnt: "mount namespace",
  pid: "process namespace",
  net: "network namespace",
  ipc: "IPC namespace",
  uts: "UTS namespace",
  cgroup: "cgroup namespace",
};
/** The kernel rounds memory limits to whole pages. */
const PAGE_BYTES = 4_096;
const SECCOMP_MODE_FILTER = 2;

export interface KernelReports {
  readonly guest: KernelReport;
  /** The report of another guest, or null if it could not be started. */
  readonly neighbour: KernelReport | null;
  /** The report of this process. */
  readonly own: KernelReport;
}

/** The properties of a level that the kernel reports. */
export interface PromisedOfKernel extends ResourceLimits {
  readonly level: IsolationLevel;
  readonly held: Held;
  readonly tmpBytes: number;
}

/** Compares the kernel's report of a guest with the reports of other processes and with the promised properties. */
export function judgeReports(reports: KernelReports, promised: PromisedOfKernel): Check[] {
  const { guest } = reports;
  return [
    ...(promised.level === "confined" ? [LACKS_NAMESPACES] : judgeNamespaces(reports)),
    checkOf("system calls", "its mode", guest.seccomp === SECCOMP_MODE_FILTER, {
      held: "a filter",
      open: `mode ${guest.seccomp}`,
    }),
    judgeFilters(reports),
    checkOf("no new privileges", "its flag", guest.noNewPrivileges === 1, {
      held: "set",
      open: "not set",
    }),
    judgeCapabilities(guest, promised.level),
    judgeUser(reports, promised.level),
    ...(promised.level === "confined" ? [judgeGroups(reports), judgeLimits(guest, promised)] : []),
    ...(promised.level === "namespaces" ? [judgeTmp(guest, promised)] : []),
    ...judgeGroup(guest, promised),
  ];
}

/** The number of a guest's filters: the filter of the plan, and the filter of the seal. */
const OWN_FILTERS = 2;

function judgeFilters({ guest, own }: KernelReports): Check {
  const more = guest.filters - own.filters;
  // A kernel that emulates Linux may not count filters. The attack with native code tests the seal in any case.
  if (Number.isNaN(more)) {
    return { layer: "system calls", tried: "its filters", outcome: "weak", found: "the kernel does not count them" };
  }
  return checkOf("system calls", "its filters", more >= OWN_FILTERS, { held: String(more), open: String(more) });
}

/** The differences to the level `namespaces`, in one line. */
const LACKS_NAMESPACES: Check = {
  layer: "namespaces",
  tried: "its namespaces",
  outcome: "weak",
  found:
    "none: a guest can learn process ids and the host's name, and, without a separate root, which paths exist; the " +
    "service polls its temporary disk",
};

function judgeNamespaces({ guest, own }: KernelReports): Check[] {
  return [
    ...NAMESPACES.map((kind) => judgeNamespace(kind, guest, own)),
    checkOf(
      "process namespace",
      "its process id inside",
      guest.pids.length > own.pids.length && guest.pids.at(-1) === 1,
      {
        held: "1",
        open: String(guest.pids.at(-1)),
      },
    ),
  ];
}

function judgeNamespace(kind: NamespaceKind, guest: KernelReport, own: KernelReport): Check {
  const namespace = guest.namespaces[kind];
  const layer = LAYER_OF[kind];
  const tried = "its namespace";
  // A container's root without CAP_SYS_PTRACE may not read it. Without a proof the layer counts as weak.
  if (namespace === null) return { layer, tried, outcome: "weak", found: UNREADABLE };
  return checkOf(layer, tried, namespace !== own.namespaces[kind], {
    held: `${namespace}, separate`,
    open: "that of the service",
  });
}

const UNREADABLE = "this process may not read it";

function judgeCapabilities({ capabilities }: KernelReport, level: IsolationLevel): Check {
  // At the level `confined` the bounding set is not counted: it limits what an executed file can grant, and no_new_privs
  // prevents that. Only a process with CAP_SETPCAP can empty it.
  const counted = Object.entries(capabilities).filter(([set]) => level !== "confined" || set !== "CapBnd");
  const kept = counted.filter(([, bits]) => !/^0+$/.test(bits));
  const open = kept.map(([set, bits]) => `${set} ${bits}`).join(", ");
  const tried = level === "confined" ? "its four sets" : "its five sets";
  return checkOf("capabilities", tried, kept.length === 0, { held: "all empty", open });
}

function judgeUser({ guest, neighbour, own }: KernelReports, level: IsolationLevel): Check {
  const check = { layer: "host user", tried: "its user on the host" } as const;
  const [uid] = guest.uids;
  if (uid === undefined || !guest.uids.every((each) => each === uid)) {
    return { ...check, outcome: "open", found: `several users: ${guest.uids.join(", ")}` };
  }
  // At the level `confined` root is allowed: a container may have no other user, and without capabilities and under Landlock
  // root is like any other user.
  if (uid === 0 && own.isOfHost && level !== "confined") return { ...check, outcome: "open", found: "root" };
  if (own.uids.includes(uid)) return { ...check, outcome: "weak", found: `user ${uid}, the same as the service` };
  if (!neighbour) return { ...check, outcome: "open", found: `user ${uid}, and no other guest to compare it with` };
  if (neighbour.uids.includes(uid))
    return { ...check, outcome: "open", found: `user ${uid}, the same as another guest` };
  return { ...check, outcome: "held", found: `user ${uid}, different from another guest's` };
}

/** A guest with a separate user must not keep a group of the service, because it could read the files of that group. */
function judgeGroups({ guest, own }: KernelReports): Check {
  const isSeparate = !guest.uids.some((uid) => own.uids.includes(uid));
  const kept = isSeparate ? guest.gids.filter((gid) => own.gids.includes(gid)) : [];
  return checkOf("host user", "its groups", kept.length === 0, {
    held: isSeparate ? `${new Set(guest.gids).size}, separate` : "the groups of its user",
    open: `kept ${[...new Set(kept)].join(", ")}`,
  });
}

/** Checks the limits that no attack tests. Without one, a guest could use a resource that no other limit counts. */
function judgeLimits({ limits }: KernelReport, { tmpBytes }: PromisedOfKernel): Check {
  const most = {
    "core file size": 0,
    "file size": tmpBytes,
    "locked memory": 0,
    "msgqueue size": 0,
    "pending signals": 64,
  };
  const exceeded = Object.entries(most).filter(([name, value]) => (limits[name] ?? Infinity) > value);
  return checkOf("temporary disk", "limits of the process", exceeded.length === 0, {
    held: `files of ${formatSize(tmpBytes)}`,
    open: exceeded.map(([name]) => name).join(", "),
  });
}

function judgeTmp({ tmpBytes }: KernelReport, promised: PromisedOfKernel): Check {
  const tried = "its size";
  if (tmpBytes === null) return { layer: "temporary disk", tried, outcome: "weak", found: UNREADABLE };
  const holds = tmpBytes < promised.tmpBytes + PAGE_BYTES;
  return checkOf("temporary disk", tried, holds, { held: formatSize(tmpBytes), open: formatSize(tmpBytes) });
}

function judgeGroup({ group, limits: own }: KernelReport, limits: PromisedOfKernel): Check[] {
  const tried = "its control group";
  if (!limits.held.memory) {
    const data = own["data size"] ?? Infinity;
    const dataLimit = data === Infinity ? "sets no limit" : `limits it to ${formatSize(data)} of data`;
    return [
      {
        layer: "memory",
        tried,
        outcome: "weak",
        found: `none; the kernel ${dataLimit}, and a poll of the service ends it at its memory limit`,
      },
      judgeThreads(own["processes"] ?? Infinity, limits),
      unheldCpu("none"),
    ];
  }
  const memoryHolds = group.memoryBytes <= limits.memoryBytes && group.memoryBytes > limits.memoryBytes - PAGE_BYTES;
  const cpuHolds = group.cpuCores <= limits.cpuCores * 1.01;
  return [
    checkOf("memory", tried, memoryHolds, {
      held: formatSize(group.memoryBytes),
      open: Number.isFinite(group.memoryBytes) ? formatSize(group.memoryBytes) : "no limit",
    }),
    checkOf("threads", tried, group.threads === limits.threads, {
      held: String(group.threads),
      open: String(group.threads),
    }),
    limits.held.cpu
      ? checkOf("processor", tried, cpuHolds, {
          held: `a quota of ${group.cpuCores}`,
          open: Number.isFinite(group.cpuCores) ? `a quota of ${group.cpuCores}` : "no quota",
        })
      : unheldCpu("no quota"),
  ];
}

function unheldCpu(found: string): Check {
  return {
    layer: "processor",
    tried: "its control group",
    outcome: "weak",
    found: `${found}; guests have a high niceness, and the service ends a guest that uses more for a long time`,
  };
}

/** The kernel counts the threads of each user. With a separate user, this limits the threads of one guest. */
function judgeThreads(ofUser: number, { level, threads }: PromisedOfKernel): Check {
  const check = { layer: "threads", tried: "its control group" } as const;
  if (level === "confined" && ofUser === threads)
    return { ...check, outcome: "held", found: `none; the limit of its user is ${threads}` };
  return { ...check, outcome: "weak", found: "none; a poll of the service counts them" };
}

function checkOf(layer: Layer, tried: string, holds: boolean, found: { held: string; open: string }): Check {
  return { layer, tried, outcome: holds ? "held" : "open", found: holds ? found.held : found.open };
}
