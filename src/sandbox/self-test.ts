import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

/** Runs code in a guest and gives its JSON result. */
export type RunInGuest = (source: string) => Promise<unknown>;

/**
 * Attacks the wall from inside, with places that do exist outside: what does not hold must be known before anybody
 * relies on it.
 *
 * @param hostFile is a file of the host that any of its users may read.
 * @throws {Error} naming every attack that got through.
 */
export async function proveWall(run: RunInGuest, hostFile: string): Promise<void> {
  const tcp = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  const tcp6 = createServer((socket) => socket.destroy()).listen(0, "::1");
  // A host without IPv6 has nothing that could be connected to.
  tcp6.on("error", () => {});
  const name = `\0caisson-self-test-${process.pid}-${Date.now()}`;
  const unix = createServer((socket) => socket.destroy()).listen(name);
  try {
    await Promise.all([once(tcp, "listening"), once(unix, "listening")]);
    const port6 = (tcp6.address() as AddressInfo | null)?.port ?? 0;
    const places = { hostFile, port: (tcp.address() as AddressInfo).port, port6, name, parent: process.pid };
    const outcomes = await run(`return (${attack.toString()})(${JSON.stringify(places)})`);
    const through = Object.entries(outcomes as Record<string, string>).filter(([, outcome]) => outcome !== "stopped");
    if (through.length === 0) return;
    throw new Error(
      `the sandbox does not hold: ${through.map(([what, outcome]) => `${what} (${outcome})`).join(", ")}`,
    );
  } finally {
    tcp.close();
    tcp6.close();
    unix.close();
  }
}

interface Places {
  readonly hostFile: string;
  readonly port: number;
  readonly port6: number;
  readonly name: string;
  readonly parent: number;
}

/** Sent to the guest as text, so it reaches nothing of this file. Each attack ends in an error, or it got through. */
async function attack(places: Places): Promise<Record<string, string>> {
  const fs = await import("node:fs");
  const net = await import("node:net");
  const dgram = await import("node:dgram");
  const { spawnSync } = await import("node:child_process");
  const connect = (options: object): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = net.connect(options as never, resolve).on("error", reject);
      socket.setTimeout(2_000, () => reject(new Error("timeout")));
    });
  const root = fs.statSync("/");
  const heldFile = (descriptor: number): boolean => {
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
      const held = Array.from({ length: 1_024 }, (_, descriptor) => heldFile(descriptor)).some(Boolean);
      if (!held) throw new Error("none");
    },
    "list processes": () => fs.readdirSync("/proc"),
    "list devices": () => fs.readdirSync("/dev"),
    "write outside its temporary folder": () => fs.writeFileSync("/guest/planted", ""),
    "start a process": () => {
      const { error } = spawnSync("/bin/node", ["--version"]);
      if (error) throw error;
    },
    "signal a process of the host": () => process.kill(places.parent, 0),
    "become root": () => process.setuid!(0),
    "connect over IPv4": () => connect({ host: "127.0.0.1", port: places.port }),
    "connect over IPv6": () => connect({ host: "::1", port: places.port6 }),
    "connect to an abstract socket": () => connect({ path: places.name }),
    "send a datagram": () =>
      new Promise<void>((resolve, reject) => {
        const socket = dgram.createSocket("udp4").on("error", reject);
        socket.send("x", places.port, "127.0.0.1", (error) => (error ? reject(error) : resolve()));
      }),
  };
  const outcomes: Record<string, string> = {};
  for (const [what, tryIt] of Object.entries(attacks)) {
    try {
      await tryIt();
      outcomes[what] = "got through";
    } catch {
      outcomes[what] = "stopped";
    }
  }
  return outcomes;
}
