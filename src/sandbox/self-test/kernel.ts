import { formatSize } from "../../units.ts";
import type { ResourceLimits } from "../cgroup/cgroup.ts";
import type { Held, IsolationLevel } from "../sandbox.ts";
import { type Account, type NamespaceKind, NAMESPACES } from "./account.ts";
import type { Check, Layer } from "./check.ts";

const LAYER_OF: Readonly<Record<NamespaceKind, Layer>> = {
  user: "user namespace",
  mnt: "mount namespace",
  pid: "process namespace",
  net: "network namespace",
  ipc: "IPC namespace",
  uts: "UTS namespace",
  cgroup: "cgroup namespace",
};
/** The kernel keeps limits of memory in whole pages. */
const PAGE_BYTES = 4_096;
const SECCOMP_MODE_FILTER = 2;

export interface Accounts {
  readonly guest: Account;
  /** Of another guest. */
  readonly neighbour: Account;
  /** Of this process. */
  readonly own: Account;
}

/** What a level has promised. */
export interface PromisedOfKernel extends ResourceLimits {
  readonly level: IsolationLevel;
  readonly held: Held;
  readonly tmpBytes: number;
}

/** What the kernel says of a guest, held against what it says of others and against what was asked of it. */
export function judgeAccount(accounts: Accounts, promised: PromisedOfKernel): Check[] {
  const { guest } = accounts;
  return [
    ...(promised.level === "confined" ? [LACKS_NAMESPACES] : judgeNamespaces(accounts)),
    asked("system calls", "its mode", guest.seccomp === SECCOMP_MODE_FILTER, {
      held: "a filter",
      open: `mode ${guest.seccomp}`,
    }),
    judgeFilters(accounts),
    asked("no new privileges", "its flag", guest.noNewPrivileges === 1, {
      held: "set",
      open: "not set",
    }),
    judgeCapabilities(guest, promised.level),
    judgeUser(accounts, promised.level),
    ...(promised.level === "confined" ? [judgeGroups(accounts), judgeLimits(guest, promised)] : []),
    ...(promised.level === "namespaces" ? [judgeTmp(guest, promised)] : []),
    ...judgeGroup(guest, promised),
  ];
}

/** The plan's, and the one that Node begins with. */
const OWN_FILTERS = 2;

function judgeFilters({ guest, own }: Accounts): Check {
  const more = guest.filters - own.filters;
  // A kernel that is not Linux may not count them. Native code is attempted in any case.
  if (Number.isNaN(more)) {
    return { layer: "system calls", tried: "its filters", outcome: "weak", found: "the kernel does not count them" };
  }
  return asked("system calls", "its filters", more >= OWN_FILTERS, { held: String(more), open: String(more) });
}

/** All that is weaker than under the level that is made of them, in one line. */
const LACKS_NAMESPACES: Check = {
  layer: "namespaces",
  tried: "those of the other level",
  outcome: "weak",
  found:
    "none: a guest can learn process ids and the host's name; without a root of its own also which paths exist; its " +
    "temporary disk is polled",
};

function judgeNamespaces({ guest, own }: Accounts): Check[] {
  return [
    ...NAMESPACES.map((kind) => judgeNamespace(kind, guest, own)),
    asked("process namespace", "its number there", guest.pids.length > own.pids.length && guest.pids.at(-1) === 1, {
      held: "1",
      open: String(guest.pids.at(-1)),
    }),
  ];
}

function judgeNamespace(kind: NamespaceKind, guest: Account, own: Account): Check {
  const theirs = guest.namespaces[kind];
  const layer = LAYER_OF[kind];
  const tried = "its namespace";
  // A root that a container has bereft of CAP_SYS_PTRACE. What cannot be seen is not held.
  if (theirs === null) return { layer, tried, outcome: "weak", found: "may not be looked at from here" };
  return asked(layer, tried, theirs !== own.namespaces[kind], {
    held: `${theirs}, its own`,
    open: "the service's own",
  });
}

function judgeCapabilities({ capabilities }: Account, level: IsolationLevel): Check {
  // The bounding set says what an executed file could give; no_new_privs lets none give anything. Only one who has
  // CAP_SETPCAP can empty it.
  const counted = Object.entries(capabilities).filter(([set]) => level !== "confined" || set !== "CapBnd");
  const kept = counted.filter(([, bits]) => !/^0+$/.test(bits));
  const open = kept.map(([set, bits]) => `${set} ${bits}`).join(", ");
  const tried = level === "confined" ? "its four sets" : "its five sets";
  return asked("capabilities", tried, kept.length === 0, { held: "all empty", open });
}

function judgeUser({ guest, neighbour, own }: Accounts, level: IsolationLevel): Check {
  const check = { layer: "host user", tried: "who it is outside" } as const;
  const [uid] = guest.uids;
  if (uid === undefined || !guest.uids.every((each) => each === uid)) {
    return { ...check, outcome: "open", found: `several users: ${guest.uids.join(", ")}` };
  }
  // Without capabilities and behind Landlock it is a user like others: that of a container that has no other.
  if (uid === 0 && own.isOfHost && level !== "confined") return { ...check, outcome: "open", found: "root" };
  if (own.uids.includes(uid)) return { ...check, outcome: "weak", found: `user ${uid}, who also runs the service` };
  if (neighbour.uids.includes(uid)) return { ...check, outcome: "open", found: `user ${uid}, like its neighbour` };
  return { ...check, outcome: "held", found: `user ${uid}, and its neighbour is another` };
}

/** Who has a user of its own and kept a group reads whatever that group may. */
function judgeGroups({ guest, own }: Accounts): Check {
  const isForeign = !guest.uids.some((uid) => own.uids.includes(uid));
  const kept = isForeign ? guest.gids.filter((gid) => own.gids.includes(gid)) : [];
  return asked("host user", "its groups", kept.length === 0, {
    held: isForeign ? `${new Set(guest.gids).size}, its own` : "those of its user",
    open: `kept ${[...new Set(kept)].join(", ")}`,
  });
}

/** What the kernel bounds of a process, and nothing else tries: each a way to use what is counted nowhere. */
function judgeLimits({ limits }: Account, { tmpBytes }: PromisedOfKernel): Check {
  const most = {
    "core file size": 0,
    "file size": tmpBytes,
    "locked memory": 0,
    "msgqueue size": 0,
    "pending signals": 64,
  };
  const exceeded = Object.entries(most).filter(([name, value]) => (limits[name] ?? Infinity) > value);
  return asked("temporary disk", "limits of the process", exceeded.length === 0, {
    held: `files of ${formatSize(tmpBytes)}`,
    open: exceeded.map(([name]) => name).join(", "),
  });
}

function judgeTmp({ tmpBytes }: Account, promised: PromisedOfKernel): Check {
  const tried = "its size";
  if (tmpBytes === null)
    return { layer: "temporary disk", tried, outcome: "weak", found: "may not be looked at from here" };
  const holds = tmpBytes < promised.tmpBytes + PAGE_BYTES;
  return asked("temporary disk", tried, holds, { held: formatSize(tmpBytes), open: formatSize(tmpBytes) });
}

function judgeGroup({ group, limits: own }: Account, limits: PromisedOfKernel): Check[] {
  const tried = "its control group";
  if (!limits.held.memory) {
    const data = own["data size"] ?? Infinity;
    const bound = data === Infinity ? "nothing" : `${formatSize(data)} of data`;
    return [
      {
        layer: "memory",
        tried,
        outcome: "weak",
        found: `none; the kernel stops it at ${bound}, a poll of the service earlier`,
      },
      judgeThreads(own["processes"] ?? Infinity, limits),
      unheldCpu("none"),
    ];
  }
  const memoryHolds = group.memoryBytes <= limits.memoryBytes && group.memoryBytes > limits.memoryBytes - PAGE_BYTES;
  const cpuHolds = group.cpuCores <= limits.cpuCores * 1.01;
  return [
    asked("memory", tried, memoryHolds, {
      held: formatSize(group.memoryBytes),
      open: Number.isFinite(group.memoryBytes) ? formatSize(group.memoryBytes) : "no limit",
    }),
    asked("threads", tried, group.threads === limits.threads, {
      held: String(group.threads),
      open: String(group.threads),
    }),
    limits.held.cpu
      ? asked("processor", tried, cpuHolds, {
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
    found: `${found}; a poll ends who uses more for long`,
  };
}

/** The kernel counts the threads of a user: of a guest alone, where that user is its own. */
function judgeThreads(ofUser: number, { level, threads }: PromisedOfKernel): Check {
  const check = { layer: "threads", tried: "its control group" } as const;
  if (level === "confined" && ofUser === threads)
    return { ...check, outcome: "held", found: `none; its user has ${threads}` };
  return { ...check, outcome: "weak", found: "none; a poll of the service counts them" };
}

function asked(layer: Layer, tried: string, holds: boolean, found: { held: string; open: string }): Check {
  return { layer, tried, outcome: holds ? "held" : "open", found: holds ? found.held : found.open };
}
