/** The result of one check of the sandbox, or of one attack on it. */
export interface Check {
  readonly layer: Layer;
  /** The property that was read from the kernel, or the attack that a guest tried. */
  readonly tried: string;
  /** `held`: the kernel enforces the layer. `weak`: a weaker mechanism does. `open`: nothing does. */
  readonly outcome: "held" | "weak" | "open";
  /** The observed result, such as an error code or a value that the kernel reported. */
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
const GROUPS = "let the service create control groups: Delegate=yes in its systemd unit, or start it as root";

/** The remedy at the level `confined`, which has no namespaces. */
const NAMESPACES = "install bubblewrap and allow user namespaces; --isolation namespaces reports what is missing";

/** The layers of the sandbox in the order of the report, each with its remedy if it is weak or open. */
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
  "host user": "start the service as root: it gives each guest a separate user id, and then gives up root",
  memory: GROUPS,
  threads: GROUPS,
  processor: GROUPS,
  "temporary disk": BUBBLEWRAP,
  descriptors: "start the service under a higher limit: ulimit -n 1024 or more",
};
