import { readFile, readlink } from "node:fs/promises";

import { type GroupLimits, readGroupLimits } from "./group-limits.ts";

/** The properties of a process as the kernel reports them. The process itself cannot forge them. */
export interface KernelReport {
  /** The real, effective, saved and filesystem user, as ids of this process's user namespace. */
  readonly uids: readonly number[];
  /** The real, effective, saved, filesystem and supplementary groups. */
  readonly gids: readonly number[];
  /** Whether the process is in the host's user namespace, where user 0 is the host's root. */
  readonly isOfHost: boolean;
  /** The seccomp mode; 2 is a filter (proc(5)). */
  readonly seccomp: number;
  /** The number of system-call filters. */
  readonly filters: number;
  readonly noNewPrivileges: number;
  /** The five capability sets, in hexadecimal. */
  readonly capabilities: Readonly<Record<string, string>>;
  /** The process ids in each PID namespace of the process, from this process's namespace inwards. */
  readonly pids: readonly number[];
  /** The namespaces by kind, such as `net`; null if this process may not read them. */
  readonly namespaces: Readonly<Record<NamespaceKind, string | null>>;
  /** The soft limits by the kernel's names; no limit is infinite. */
  readonly limits: Readonly<Record<string, number>>;
  readonly group: GroupLimits;
  /** The size of the file system at /tmp, in bytes; null if there is none, or if this process may not read it. */
  readonly tmpBytes: number | null;
}

export const NAMESPACES = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] as const;
export type NamespaceKind = (typeof NAMESPACES)[number];
const CAPABILITY_SETS = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];

/** @param pid the id of a process, or `self`. @throws {Error} if there is no such process. */
export async function readKernelReport(pid: number | "self"): Promise<KernelReport> {
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

/** Parses a line such as `36 35 0:30 / /tmp rw,nosuid - tmpfs tmpfs rw,size=65536k,uid=1000` (proc_pid_mountinfo(5)). */
function parseTmpBytes(mounts: string): number | null {
  const size = /^(?:\S+ ){4}\/tmp .* - tmpfs \S+ \S*\bsize=(\d+)k/m.exec(mounts)?.[1];
  return size === undefined ? null : Number(size) * 1_024;
}

async function readNamespaces(pid: number | "self"): Promise<Record<NamespaceKind, string | null>> {
  const links = NAMESPACES.map(async (kind) => [kind, await readlink(`/proc/${pid}/ns/${kind}`).catch(() => null)]);
  return Object.fromEntries(await Promise.all(links)) as Record<NamespaceKind, string | null>;
}

/** Parses lines such as `Max open files            128                  128                  files`. */
function parseLimits(text: string): Record<string, number> {
  const rows = text.matchAll(/^Max (\S+(?: \S+)*)\s{2,}(\d+|unlimited)\s/gm);
  return Object.fromEntries([...rows].map(([, name, soft]) => [name!, soft === "unlimited" ? Infinity : Number(soft)]));
}
