/** What one look at the wall, or one attack on it, has shown. */
export interface Check {
  readonly layer: Layer;
  /** What was asked of the kernel, or tried from inside. */
  readonly tried: string;
  /** `weak`: there is a means, and not the one that the kernel holds by itself. */
  readonly outcome: "held" | "weak" | "open";
  /** What came of it: the code of an error, or the kernel's own words. */
  readonly found: string;
}

export type Layer =
  | "namespaces"
  | `${"user" | "mount" | "process" | "network" | "IPC" | "UTS" | "cgroup"} namespace`
  | "system calls"
  | "Landlock"
  | "no new privileges"
  | "capabilities"
  | "files"
  | "processes"
  | "network"
  | "host user"
  | "memory"
  | "threads"
  | "processor"
  | "temporary disk"
  | "descriptors";

const BUBBLEWRAP = "install bubblewrap 0.8 or newer from your distribution, and no other program of that name";
const FILTER = "run on a kernel with CONFIG_SECCOMP_FILTER";
const GROUPS = "let the service make control groups: Delegate=yes in its systemd unit, or start it as root";

/** Under the level that has none, what would have to be there for the stronger one. */
const NAMESPACES = "install bubblewrap, and let user namespaces be made: --isolation namespaces says what is missing";

/** The layers of the wall in the order in which they are told, each with what mends it where it is weak or missing. */
export const LAYERS: Readonly<Record<Layer, string>> = {
  namespaces: NAMESPACES,
  "user namespace": BUBBLEWRAP,
  "mount namespace": BUBBLEWRAP,
  "process namespace": BUBBLEWRAP,
  "network namespace": BUBBLEWRAP,
  "IPC namespace": BUBBLEWRAP,
  "UTS namespace": BUBBLEWRAP,
  "cgroup namespace": BUBBLEWRAP,
  "system calls": FILTER,
  Landlock: "run on a kernel with Landlock (5.19 or newer, started with lsm=...,landlock)",
  "no new privileges": BUBBLEWRAP,
  capabilities: BUBBLEWRAP,
  files: BUBBLEWRAP,
  processes: FILTER,
  network: FILTER,
  "host user": "start the service as root: it gives every guest a user id of its own, and then root up",
  memory: GROUPS,
  threads: GROUPS,
  processor: GROUPS,
  "temporary disk": BUBBLEWRAP,
  descriptors: "start the service under a higher limit: ulimit -n 1024 or more",
};
