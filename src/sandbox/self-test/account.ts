import { readFile, readlink } from "node:fs/promises";

import { type GroupLimits, readGroupLimits } from "./group-limits.ts";

/** What the kernel says of a process, from outside: nothing in it can be forged from within the process. */
export interface Account {
  /** Real, effective, saved and filesystem user, as this process's user namespace counts. */
  readonly uids: readonly number[];
  /** Likewise its groups, and all that it has besides. */
  readonly gids: readonly number[];
  /** Whether it is in the host's own user namespace, where root is root. */
  readonly isOfHost: boolean;
  /** 2 is a filter (proc(5)). */
  readonly seccomp: number;
  /** How many filters it is under. */
  readonly filters: number;
  readonly noNewPrivileges: number;
  /** Each of the five sets as it is written, in hexadecimal. */
  readonly capabilities: Readonly<Record<string, string>>;
  /** Its id in each PID namespace that it is in, from here inwards. */
  readonly pids: readonly number[];
  /** By kind, such as `net`; null where this process may not look. */
  readonly namespaces: Readonly<Record<NamespaceKind, string | null>>;
  /** Soft limits by the kernel's names; a limit that is none is infinite. */
  readonly limits: Readonly<Record<string, number>>;
  readonly group: GroupLimits;
  /** The size of the file system at /tmp, in bytes; null where it has none there or this process may not look. */
  readonly tmpBytes: number | null;
}

export const NAMESPACES = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] as const;
export type NamespaceKind = (typeof NAMESPACES)[number];
const CAPABILITY_SETS = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];

/** @param pid of a process, or `self`. @throws {Error} when there is none. */
export async function readAccount(pid: number | "self"): Promise<Account> {
  const status = await readFile(`/proc/${pid}/status`, "latin1");
  const field = (name: string): string => new RegExp(`^${name}:[\\t ]+(.*)$`, "m").exec(status)?.[1] ?? "";
  const numbers = (name: string): number[] => field(name).split(/\s+/).map(Number);
  return {
    uids: numbers("Uid"),
    gids: [...numbers("Gid"), ...(field("Groups").match(/\d+/g) ?? []).map(Number)],
    isOfHost: /^\s*0\s+0\s+4294967295\s*$/.test(await readFile(`/proc/${pid}/uid_map`, "latin1")),
    seccomp: Number(field("Seccomp")),
    filters: Number(field("Seccomp_filters") || NaN),
    noNewPrivileges: Number(field("NoNewPrivs")),
    capabilities: Object.fromEntries(CAPABILITY_SETS.map((set) => [set, field(set)])),
    pids: numbers("NSpid"),
    namespaces: await readNamespaces(pid),
    limits: parseLimits(await readFile(`/proc/${pid}/limits`, "latin1")),
    group: await readGroupLimits(pid),
    tmpBytes: parseTmpBytes(await readFile(`/proc/${pid}/mountinfo`, "latin1").catch(() => "")),
  };
}

/** A line such as `36 35 0:30 / /tmp rw,nosuid - tmpfs tmpfs rw,size=65536k,uid=1000` (proc_pid_mountinfo(5)). */
function parseTmpBytes(mounts: string): number | null {
  const size = /^(?:\S+ ){4}\/tmp .* - tmpfs \S+ \S*\bsize=(\d+)k/m.exec(mounts)?.[1];
  return size === undefined ? null : Number(size) * 1_024;
}

async function readNamespaces(pid: number | "self"): Promise<Record<NamespaceKind, string | null>> {
  const links = NAMESPACES.map(async (kind) => [kind, await readlink(`/proc/${pid}/ns/${kind}`).catch(() => null)]);
  return Object.fromEntries(await Promise.all(links)) as Record<NamespaceKind, string | null>;
}

/** Lines such as `Max open files            128                  128                  files`. */
function parseLimits(text: string): Record<string, number> {
  const rows = text.matchAll(/^Max (\S+(?: \S+)*)\s{2,}(\d+|unlimited)\s/gm);
  return Object.fromEntries([...rows].map(([, name, soft]) => [name!, soft === "unlimited" ? Infinity : Number(soft)]));
}
