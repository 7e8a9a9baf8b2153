import type { Row } from "../hostile/table.ts";

/** The result of an attack. */
export interface Verdict extends Row {
  /** Why the answer was wrong, or null. */
  readonly error: string | null;
}

/** Forty attacks of the corpus, by class: the attacks that meet another sandbox in a container than on a host. */
export const CHOSEN: Readonly<Record<string, readonly string[]>> = {
  bombs: ["buffers", "heap-objects", "workers"],
  escapes: [
    "dlopen-libc",
    "dlopen-own",
    "get-builtin-module",
    "import-file",
    "inspector-open",
    "internals",
    "process-binding-fs",
    "process-binding-spawn",
    "sqlite",
    "wasi-preopens",
    "worker-exec-argv",
  ],
  files: [
    "descriptors",
    "hard-link",
    "host-environment",
    "host-paths",
    "symlink",
    "write-guest",
    "write-host",
    "write-outside",
  ],
  processes: ["become-root", "cluster", "exec", "execve", "fork", "fork-bomb", "priority", "spawn", "spawn-sync"],
  signals: ["groups", "others"],
  sockets: ["listen", "metadata", "own-service", "tcp", "tcp-wrap", "udp-wrap", "unix"],
};
