import { formatSize } from "../../units.ts";
import type { ResourceLimits } from "../cgroup.ts";
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

/**
 * What the kernel says of a guest, held against what it says of others and against what was asked of it.
 *
 * @param holdsResources whether control groups were made for the limits.
 */
export function judgeAccount(accounts: Accounts, limits: ResourceLimits, holdsResources: boolean): Check[] {
  const { guest, own } = accounts;
  return [
    ...NAMESPACES.map((kind) => judgeNamespace(kind, guest, own)),
    asked("process namespace", "its number there", guest.pids.length > own.pids.length && guest.pids.at(-1) === 1, {
      held: "1",
      open: String(guest.pids.at(-1)),
    }),
    asked("system calls", "its mode", guest.seccomp === SECCOMP_MODE_FILTER, {
      held: "a filter",
      open: `mode ${guest.seccomp}`,
    }),
    asked("no new privileges", "its flag", guest.noNewPrivileges === 1, {
      held: "set",
      open: "not set",
    }),
    judgeCapabilities(guest),
    judgeUser(accounts),
    ...judgeGroup(guest, limits, holdsResources),
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

function judgeCapabilities({ capabilities }: Account): Check {
  const kept = Object.entries(capabilities).filter(([, bits]) => !/^0+$/.test(bits));
  const open = kept.map(([set, bits]) => `${set} ${bits}`).join(", ");
  return asked("capabilities", "its five sets", kept.length === 0, { held: "all empty", open });
}

function judgeUser({ guest, neighbour, own }: Accounts): Check {
  const check = { layer: "host user", tried: "who it is outside" } as const;
  const [uid] = guest.uids;
  if (uid === undefined || !guest.uids.every((each) => each === uid)) {
    return { ...check, outcome: "open", found: `several users: ${guest.uids.join(", ")}` };
  }
  if (uid === 0 && own.isOfHost) return { ...check, outcome: "open", found: "root" };
  if (own.uids.includes(uid)) return { ...check, outcome: "weak", found: `user ${uid}, who also runs the service` };
  if (neighbour.uids.includes(uid)) return { ...check, outcome: "open", found: `user ${uid}, like its neighbour` };
  return { ...check, outcome: "held", found: `user ${uid}, and its neighbour is another` };
}

function judgeGroup({ group, limits: own }: Account, limits: ResourceLimits, holdsResources: boolean): Check[] {
  const tried = "its control group";
  if (!holdsResources) {
    const data = own["data size"] ?? Infinity;
    const bound = data === Infinity ? "nothing" : `${formatSize(data)} of data`;
    return [
      {
        layer: "memory",
        tried,
        outcome: "weak",
        found: `none; the kernel stops it at ${bound}, a poll of the service earlier`,
      },
      { layer: "threads", tried, outcome: "weak", found: "none; a poll of the service counts them" },
      { layer: "processor", tried, outcome: "weak", found: "none; only the block limit and the scheduler hold it" },
    ];
  }
  const memoryHolds = group.memoryBytes <= limits.memoryBytes && group.memoryBytes > limits.memoryBytes - PAGE_BYTES;
  const cpu = asked("processor", tried, group.cpuCores <= limits.cpuCores * 1.01, {
    held: `a quota of ${group.cpuCores}`,
    open: "no quota",
  });
  return [
    asked("memory", tried, memoryHolds, {
      held: formatSize(group.memoryBytes),
      open: Number.isFinite(group.memoryBytes) ? formatSize(group.memoryBytes) : "no limit",
    }),
    asked("threads", tried, group.threads === limits.threads, {
      held: String(group.threads),
      open: String(group.threads),
    }),
    // Some hosts pass on memory and pids alone.
    cpu.outcome === "open" ? { ...cpu, outcome: "weak" } : cpu,
  ];
}

function asked(layer: Layer, tried: string, holds: boolean, found: { held: string; open: string }): Check {
  return { layer, tried, outcome: holds ? "held" : "open", found: holds ? found.held : found.open };
}
