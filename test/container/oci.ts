import { existsSync } from "node:fs";

import { defaultProfile, type Refusals } from "./seccomp-profile.ts";

/** The options of `docker run`; all are optional. */
export interface RunFlags {
  /** `--user`, by number. */
  readonly user?: number;
  /** `--cap-drop ALL` removes all capabilities. */
  readonly capabilities?: readonly string[];
  /** `--security-opt no-new-privileges`. */
  readonly noNewPrivileges?: boolean;
  /** `--read-only --tmpfs /tmp:…`. By default an engine mounts it without execution. */
  readonly readOnly?: "exec" | "noexec";
  /** `--env`. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Calls that another profile refuses, or that a kernel does not have. */
  readonly refused?: Refusals;
}

/** The parts of a container. */
export interface Process {
  readonly rootfs: string;
  readonly words: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** A network namespace (`/run/netns/…`), or null for the host's. */
  readonly network: string | null;
  /** Folders of the host: their source, their target, and whether the container may write to them. */
  readonly binds: readonly (readonly [from: string, to: string, mode: "ro" | "rw"])[];
}

/** The default capabilities of a container (Docker's documentation, "Runtime privilege and Linux capabilities"). */
export const DEFAULT_CAPABILITIES: readonly string[] =
  "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE"
    .split(" ")
    .map((name) => `CAP_${name}`);

/**
 * Returns the configuration (OCI runtime specification, config.md and config-linux.md) that an engine writes for a plain
 * `docker run`: no limit of resources, private namespaces, but no user namespace.
 *
 * The AppArmor profile `docker-default` is left out, because this kernel may not support it. It mainly forbids mounts, and
 * `ptrace` of foreign processes. On a host with version 1 of control groups there is no namespace for them, as with an
 * engine. Their folders are read-only in both versions.
 */
export function ociConfig(process: Process, flags: RunFlags): object {
  const capabilities = flags.capabilities ?? DEFAULT_CAPABILITIES;
  const user = flags.user ?? 0;
  // An engine leaves a user only the bounding set. Only a set-user-id program can regain capabilities from it.
  const effective = user === 0 ? capabilities : [];
  return {
    ociVersion: "1.0.2",
    process: {
      terminal: false,
      user: { uid: user, gid: user },
      args: process.words,
      env: Object.entries({ PATH, ...process.environment, ...flags.environment }).map(
        ([name, value]) => `${name}=${value}`,
      ),
      cwd: process.cwd,
      capabilities: { bounding: capabilities, effective, permitted: effective, inheritable: [], ambient: [] },
      noNewPrivileges: flags.noNewPrivileges ?? false,
    },
    root: { path: process.rootfs, readonly: flags.readOnly !== undefined },
    hostname: "caisson",
    mounts: [
      ...KERNEL_MOUNTS.map(([destination, type, ...options]) => ({ destination, type, source: type, options })),
      ...process.binds.map(([source, destination, mode]) => {
        return { destination, type: "bind", source, options: ["rbind", "rprivate", mode] };
      }),
      ...(flags.readOnly
        ? [{ destination: "/tmp", type: "tmpfs", source: "tmpfs", options: [...TMPFS, flags.readOnly] }]
        : []),
    ],
    linux: {
      namespaces: [
        ...["mount", "uts", "ipc", "pid", ...(CGROUPS_V2 ? ["cgroup"] : [])].map((type) => ({ type })),
        ...(process.network === null ? [] : [{ type: "network", path: process.network }]),
      ],
      resources: { devices: DEVICES },
      seccomp: defaultProfile(capabilities, flags.refused),
      maskedPaths: MASKED,
      readonlyPaths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
    },
  };
}

const CGROUPS_V2 = existsSync("/sys/fs/cgroup/cgroup.controllers");
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const TMPFS = ["nosuid", "nodev", "mode=1777"];

const KERNEL_MOUNTS: readonly (readonly [destination: string, type: string, ...options: string[]])[] = [
  ["/proc", "proc", "nosuid", "noexec", "nodev"],
  ["/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"],
  ["/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
  ["/dev/shm", "tmpfs", "nosuid", "noexec", "nodev", "mode=1777", "size=65536k"],
  ["/dev/mqueue", "mqueue", "nosuid", "noexec", "nodev"],
  ["/sys", "sysfs", "nosuid", "noexec", "nodev", "ro"],
  ["/sys/fs/cgroup", "cgroup", "nosuid", "noexec", "nodev", "relatime", "ro"],
];

const MASKED = [
  ...[
    "acpi",
    "asound",
    "interrupts",
    "kcore",
    "keys",
    "latency_stats",
    "sched_debug",
    "scsi",
    "timer_list",
    "timer_stats",
  ].map((name) => `/proc/${name}`),
  "/sys/devices/virtual/powercap",
  "/sys/firmware",
];

/** The devices of every container: null, zero, full, tty, console, random, urandom, ptmx and its terminals. */
const DEVICES = [
  { allow: false, access: "rwm" },
  ...[
    [1, 3],
    [1, 5],
    [1, 7],
    [1, 8],
    [1, 9],
    [5, 0],
    [5, 1],
    [5, 2],
  ].map(([major, minor]) => ({ allow: true, type: "c", major, minor, access: "rwm" })),
  { allow: true, type: "c", major: 136, access: "rwm" },
];
