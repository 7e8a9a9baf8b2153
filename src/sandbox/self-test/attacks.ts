import type { Stats } from "node:fs";

import type { Check, Layer } from "./check.ts";

/** The targets of the attacks, which exist outside the sandbox. */
export interface AttackTargets {
  /** A file that any user of the host may read. */
  readonly hostFile: string;
  readonly port: number;
  /** The port on IPv6; 0 on a host without IPv6. */
  readonly port6: number;
  /** The name of an abstract Unix socket. */
  readonly name: string;
  /** The pid of a process of the host. */
  readonly parent: number;
  readonly tmpBytes: number;
  readonly descriptors: number;
  /** A valid shared library, in base64. */
  readonly library: string;
  /** Whether to fill the temporary folder. False if that would use too much of the guest's memory. */
  readonly fillsTmp: boolean;
}

/**
 * The layer that must stop each attack. `error` is the only accepted error: any other error means that the layer let the
 * call through to the kernel.
 */
const ATTACKS: Readonly<Record<string, { layer: Layer; error?: string }>> = {
  "read a file of the host": { layer: "files" },
  "read the host's users": { layer: "files" },
  "hold an open file of the host": { layer: "files" },
  "list processes": { layer: "files" },
  "list devices": { layer: "files" },
  "write outside its temporary folder": { layer: "files" },
  "start a process": { layer: "processes", error: "EPERM" },
  "signal a process of the host": { layer: "processes" },
  "become root": { layer: "capabilities" },
  "connect over IPv4": { layer: "network", error: "EPERM" },
  "connect over IPv6": { layer: "network", error: "EPERM" },
  "connect to an abstract socket": { layer: "network", error: "EPERM" },
  "send a datagram": { layer: "network", error: "EPERM" },
  "list network devices by netlink": { layer: "network", error: "EPERM" },
  "fill its temporary folder": { layer: "temporary disk", error: "ENOSPC" },
  "load native code that it wrote": { layer: "system calls", error: "EPERM" },
  "open more files than the limit": { layer: "descriptors", error: "EMFILE" },
};

/** Returns the code that runs the attacks in a guest and returns their outcomes. */
export function attackSource(targets: AttackTargets): string {
  return `return (${attack.toString()})(${JSON.stringify(targets)})`;
}

/** @param outcomes the value that a guest returned. The guest runs only our code, but may not have run all of it. */
export function judgeAttacks(outcomes: unknown, { fillsTmp }: AttackTargets): Check[] {
  const reported = new Map(Object.entries((outcomes ?? {}) as Record<string, string>));
  const expected = Object.entries(ATTACKS).filter(([, { layer }]) => fillsTmp || layer !== "temporary disk");
  return expected.map(([tried, { layer, error }]) => {
    const found = reported.get(tried) ?? "was not tried";
    return { layer, tried, outcome: judge(found, error), found };
  });
}

function judge(found: string, error: string | undefined): Check["outcome"] {
  // Node's permission flags refused it. They work inside the process and are weaker than the kernel.
  if (found === "ERR_ACCESS_DENIED") return "weak";
  if (error !== undefined) return found === error ? "held" : "open";
  return /^E[A-Z0-9]+$|^none$/.test(found) ? "held" : "open";
}

/**
 * Runs the attacks in the guest. It is sent as text, so it cannot use other names of this file. Returns the code of each
 * error, or `got through`.
 */
async function attack(targets: AttackTargets): Promise<Record<string, string>> {
  const fs = await import("node:fs");
  const os = await import("node:os");
  const net = await import("node:net");
  const dgram = await import("node:dgram");
  const { getSystemErrorName } = await import("node:util");
  const { spawnSync } = await import("node:child_process");
  const throwError = (status: number | undefined): void => {
    if (status) throw Object.assign(new Error("stopped"), { code: getSystemErrorName(status) });
  };
  type Handle = Record<string, (...args: unknown[]) => number | undefined>;
  type Binding = Record<string, new (kind?: number) => Handle & { oncomplete: (status: number) => void }>;
  const findBinding = (name: string): Binding | null => {
    try {
      return (process as unknown as { binding: (name: string) => Binding }).binding(name);
    } catch {
      // Node's permission flags refuse it. At that level the guest does not replace Node's modules, so these suffice.
      return null;
    }
  };
  // Uses Node's internal bindings, below the guest's gateway that replaces sockets, so that the call reaches the kernel.
  const connect = async (library: string, kind: string, method: string, to: object): Promise<void> => {
    const binding = findBinding(library);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      // `setImmediate` handles events first that arrived while this process had no CPU.
      setTimeout(() => setImmediate(resolve, 0), 2_000);
      if (!binding) {
        net.connect(to as never, () => resolve(0)).on("error", reject);
        return;
      }
      const handle = new binding[kind]!(0);
      const request = Object.assign(new binding[`${kind}ConnectWrap`]!(), { oncomplete: resolve });
      const failed = handle[method]!(request, ...Object.values(to));
      if (failed) resolve(failed);
    });
    throwError(status);
  };
  const heldFile = (descriptor: number, root: Stats): boolean => {
    try {
      const found = fs.fstatSync(descriptor);
      // Node itself opens the root, which belongs to the sandbox.
      const isOwn = found.dev === root.dev && found.ino === root.ino;
      return !isOwn && (found.isFile() || found.isDirectory() || found.isBlockDevice());
    } catch {
      return false;
    }
  };
  const attacks: Record<string, () => unknown> = {
    "read a file of the host": () => fs.readFileSync(targets.hostFile),
    "read the host's users": () => fs.readFileSync("/etc/passwd"),
    "hold an open file of the host": () => {
      const root = fs.statSync("/");
      const held = Array.from({ length: 1_024 }, (_, descriptor) => heldFile(descriptor, root)).some(Boolean);
      if (!held) throw Object.assign(new Error("stopped"), { code: "none" });
    },
    "list processes": () => fs.readdirSync("/proc"),
    "list devices": () => fs.readdirSync("/dev"),
    "write outside its temporary folder": () => fs.writeFileSync("/guest/planted", ""),
    "start a process": () => {
      const { error } = spawnSync(process.execPath, ["--version"], { stdio: "inherit" });
      if (error) throw error;
    },
    "signal a process of the host": () => process.kill(targets.parent, 0),
    "become root": () => process.setuid!(0),
    "connect over IPv4": () => connect("tcp_wrap", "TCP", "connect", { host: "127.0.0.1", port: targets.port }),
    "connect over IPv6": () => connect("tcp_wrap", "TCP", "connect6", { host: "::1", port: targets.port6 }),
    "connect to an abstract socket": () => connect("pipe_wrap", "Pipe", "connect", { path: targets.name }),
    "send a datagram": () => {
      const binding = findBinding("udp_wrap");
      // `bind` returns immediately whether the socket could be created.
      if (binding) return throwError(new binding["UDP"]!()["bind"]!("0.0.0.0", 0, 0));
      return new Promise<void>((resolve, reject) => {
        const socket = dgram.createSocket("udp4").on("error", reject);
        socket.bind(0, "0.0.0.0", () => socket.close(resolve));
      });
    },
    "list network devices by netlink": () => {
      try {
        os.networkInterfaces();
      } catch (error) {
        throwError(-Math.abs((error as { info: { errno: number } }).info.errno));
      }
    },
    "fill its temporary folder": () => {
      if (!targets.fillsTmp) return;
      // Several files, because the size of one file is also limited.
      const fileBytes = Math.ceil(targets.tmpBytes / 4);
      const piece = Buffer.alloc(Math.min(2 ** 20, fileBytes), 1);
      const files: number[] = [];
      try {
        for (let written = 0; written <= targets.tmpBytes;) {
          if (written >= files.length * fileBytes) files.push(fs.openSync(`filled-${files.length}`, "w"));
          written += fs.writeSync(files.at(-1)!, piece);
        }
      } finally {
        for (const [index, file] of files.entries()) {
          fs.closeSync(file);
          fs.unlinkSync(`filled-${index}`);
        }
      }
    },
    "load native code that it wrote": async () => {
      const { DatabaseSync } = await import("node:sqlite");
      const library = `${os.tmpdir()}/library`;
      // SQLite tries both names, and reports the error of the second.
      for (const name of [library, `${library}.so`]) fs.writeFileSync(name, Buffer.from(targets.library, "base64"));
      try {
        new DatabaseSync(":memory:", { allowExtension: true }).loadExtension(library);
      } catch (error) {
        const isRefused = (error as Error).message.includes("failed to map segment");
        throwError(isRefused ? -os.constants.errno.EPERM : 0);
      } finally {
        for (const name of [library, `${library}.so`]) fs.unlinkSync(name);
      }
    },
    "open more files than the limit": () => {
      const open: number[] = [];
      try {
        while (open.length <= targets.descriptors) open.push(fs.openSync(process.execPath, "r"));
      } finally {
        for (const file of open) fs.closeSync(file);
      }
    },
  };
  const outcomes: Record<string, string> = {};
  for (const [what, tryIt] of Object.entries(attacks)) {
    try {
      await tryIt();
      outcomes[what] = "got through";
    } catch (error) {
      outcomes[what] = (error as NodeJS.ErrnoException).code ?? String(error);
    }
  }
  return outcomes;
}
