import type { Stats } from "node:fs";

import type { Check, Layer } from "./check.ts";

/** Where the attacks lead: places that do exist outside. */
export interface Places {
  /** A file that any user of the host may read. */
  readonly hostFile: string;
  readonly port: number;
  /** Of IPv6; 0 on a host without it. */
  readonly port6: number;
  /** Of an abstract Unix socket. */
  readonly name: string;
  readonly parent: number;
  readonly tmpBytes: number;
  readonly descriptors: number;
  /** A shared library that can be loaded, in base64. */
  readonly library: string;
  /** Whether the temporary folder may be filled: not where it would take the guest's memory. */
  readonly fillsTmp: boolean;
}

/** What each attack is aimed at. `by`: any other error would mean that the kernel itself had judged the call. */
const ATTACKS: Readonly<Record<string, { layer: Layer; by?: string }>> = {
  "read a file of the host": { layer: "files" },
  "read the host's users": { layer: "files" },
  "hold an open file of the host": { layer: "files" },
  "list processes": { layer: "files" },
  "list devices": { layer: "files" },
  "write outside its temporary folder": { layer: "files" },
  "start a process": { layer: "processes", by: "EPERM" },
  "signal a process of the host": { layer: "processes" },
  "become root": { layer: "capabilities" },
  "connect over IPv4": { layer: "network", by: "EPERM" },
  "connect over IPv6": { layer: "network", by: "EPERM" },
  "connect to an abstract socket": { layer: "network", by: "EPERM" },
  "send a datagram": { layer: "network", by: "EPERM" },
  "ask the kernel for its devices by netlink": { layer: "network", by: "EPERM" },
  "fill its temporary folder": { layer: "temporary disk", by: "ENOSPC" },
  "load native code that it wrote": { layer: "system calls", by: "EPERM" },
  "open files without end": { layer: "descriptors", by: "EMFILE" },
};

/** The code that a guest returns the outcomes of. */
export function attackSource(places: Places): string {
  return `return (${attack.toString()})(${JSON.stringify(places)})`;
}

/** @param outcomes as a guest returned them: it runs our code only, and is not believed to have run all of it. */
export function judgeAttacks(outcomes: unknown, { fillsTmp }: Places): Check[] {
  const told = new Map(Object.entries((outcomes ?? {}) as Record<string, string>));
  const made = Object.entries(ATTACKS).filter(([, { layer }]) => fillsTmp || layer !== "temporary disk");
  return made.map(([tried, { layer, by }]) => {
    const found = told.get(tried) ?? "was not tried";
    return { layer, tried, outcome: judge(found, by), found };
  });
}

function judge(found: string, by: string | undefined): Check["outcome"] {
  // Node's own permission flags: a wall within the process.
  if (found === "ERR_ACCESS_DENIED") return "weak";
  if (by !== undefined) return found === by ? "held" : "open";
  return /^E[A-Z0-9]+$|^none$/.test(found) ? "held" : "open";
}

/** Sent to the guest as text, so it reaches nothing of this file. Gives the code of each error, or `got through`. */
async function attack(places: Places): Promise<Record<string, string>> {
  const fs = await import("node:fs");
  const os = await import("node:os");
  const net = await import("node:net");
  const dgram = await import("node:dgram");
  const { getSystemErrorName } = await import("node:util");
  const { spawnSync } = await import("node:child_process");
  const throwError = (status: number | undefined): void => {
    if (status) throw Object.assign(new Error("stopped"), { code: getSystemErrorName(status) });
  };
  type Handle = Record<string, (...words: unknown[]) => number | undefined>;
  type Binding = Record<string, new (kind?: number) => Handle & { oncomplete: (status: number) => void }>;
  const findBinding = (name: string): Binding | null => {
    try {
      return (process as unknown as { binding: (name: string) => Binding }).binding(name);
    } catch {
      // Node's permission flags keep it; there, nothing has replaced the modules.
      return null;
    }
  };
  // Below all that puts a gateway in the place of a socket, so that it is the kernel that is asked.
  const connect = async (library: string, kind: string, method: string, to: object): Promise<void> => {
    const binding = findBinding(library);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      // What has come while this process did not get the processor is heard first.
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
      // Node itself opens the root, which is the sandbox's own.
      const isOwn = found.dev === root.dev && found.ino === root.ino;
      return !isOwn && (found.isFile() || found.isDirectory() || found.isBlockDevice());
    } catch {
      return false;
    }
  };
  const attacks: Record<string, () => unknown> = {
    "read a file of the host": () => fs.readFileSync(places.hostFile),
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
    "signal a process of the host": () => process.kill(places.parent, 0),
    "become root": () => process.setuid!(0),
    "connect over IPv4": () => connect("tcp_wrap", "TCP", "connect", { host: "127.0.0.1", port: places.port }),
    "connect over IPv6": () => connect("tcp_wrap", "TCP", "connect6", { host: "::1", port: places.port6 }),
    "connect to an abstract socket": () => connect("pipe_wrap", "Pipe", "connect", { path: places.name }),
    "send a datagram": () => {
      const binding = findBinding("udp_wrap");
      // Bound, because it says at once whether there is a socket.
      if (binding) return throwError(new binding["UDP"]!()["bind"]!("0.0.0.0", 0, 0));
      return new Promise<void>((resolve, reject) => {
        const socket = dgram.createSocket("udp4").on("error", reject);
        socket.bind(0, "0.0.0.0", () => socket.close(resolve));
      });
    },
    "ask the kernel for its devices by netlink": () => {
      try {
        os.networkInterfaces();
      } catch (error) {
        throwError(-Math.abs((error as { info: { errno: number } }).info.errno));
      }
    },
    "fill its temporary folder": () => {
      if (!places.fillsTmp) return;
      // In several files: the size of one is limited, too.
      const fileBytes = Math.ceil(places.tmpBytes / 4);
      const piece = Buffer.alloc(Math.min(2 ** 20, fileBytes), 1);
      const files: number[] = [];
      try {
        for (let written = 0; written <= places.tmpBytes;) {
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
      // SQLite tries both names, and its error is that of the second.
      for (const name of [library, `${library}.so`]) fs.writeFileSync(name, Buffer.from(places.library, "base64"));
      try {
        new DatabaseSync(":memory:", { allowExtension: true }).loadExtension(library);
      } catch (error) {
        const isRefused = (error as Error).message.includes("failed to map segment");
        throwError(isRefused ? -os.constants.errno.EPERM : 0);
      } finally {
        for (const name of [library, `${library}.so`]) fs.unlinkSync(name);
      }
    },
    "open files without end": () => {
      const open: number[] = [];
      try {
        while (open.length <= places.descriptors) open.push(fs.openSync(process.execPath, "r"));
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
