import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { isPrivileged } from "../../src/sandbox/privilege.ts";

/** Returns why no container can be created here, or false. */
export function whyNoContainer(): string | false {
  if (process.platform !== "linux") return "containers are Linux's";
  if (!isPrivileged()) return "only root can do what an engine does";
  if (spawnSync("unshare", ["--mount", "--net", "true"]).status !== 0) return "this root may make no namespaces";
  const missing = ["crun", "ip"].find((program) => spawnSync(program, ["--version"]).error);
  return missing === undefined ? false : `${missing} is not installed; npm run setup installs it`;
}

/** A folder for a container, and the container's name. */
export interface Bundle {
  readonly name: string;
  readonly folder: string;
  /** The mount point of its root, if that is a layer over an image. */
  readonly rootfs: string;
}

const BLOCKS = 0x8000;
let made = 0;

export function makeBundle(): Bundle {
  const folder = mkdtempSync(path.join(tmpdir(), "caisson-container-"));
  const rootfs = path.join(folder, "rootfs");
  for (const name of ["rootfs", "upper", "work"]) mkdirSync(path.join(folder, name), { mode: 0o755 });
  return { name: `caisson-test-${process.pid}-${++made}`, folder, rootfs };
}

/** Runs a container with the network of the host to its end. @throws {Error} with its output, if it fails. */
export function runToEnd(config: object): void {
  const bundle = makeBundle();
  try {
    const [program, ...words] = command(bundle, config, []);
    execFileSync(program!, words, { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
  } finally {
    removeBundle(bundle);
  }
}

/** Starts a container on a separate layer over an image, with a separate network interface. */
export function startContainer(bundle: Bundle, config: object, image: string, network: Network): ChildProcess {
  const setup = [
    `mount -t overlay overlay -o "lowerdir=${image},upperdir=${bundle.folder}/upper,workdir=${bundle.folder}/work" "${bundle.rootfs}"`,
    "ip link set lo up",
    `ip link add eth0 type veth peer name ${network.device} netns ${process.pid}`,
    `nsenter --net --target ${process.pid} ip addr add ${network.gateway}/30 dev ${network.device}`,
    `nsenter --net --target ${process.pid} ip link set ${network.device} up`,
    `ip addr add ${network.address}/30 dev eth0`,
    "ip link set eth0 up",
    `ip route add default via ${network.gateway}`,
  ];
  const [program, ...words] = command(bundle, config, setup, ["--net"]);
  return spawn(program!, words, { stdio: ["ignore", "pipe", "pipe"] });
}

/** A pair of devices: one end is the container's `eth0`, and the other a device of the host, as on an engine's bridge. */
export interface Network {
  readonly device: string;
  readonly gateway: string;
  readonly address: string;
}

/** Returns a random block of four addresses for parallel tests, in the benchmark range, which no network uses (RFC 2544). */
export function chooseNetwork(): Network {
  const block = randomInt(BLOCKS);
  const address = (last: number): string =>
    `198.${18 + (block >> 14)}.${(block >> 6) & 0xff}.${((block & 0x3f) << 2) + last}`;
  return { device: `caisson${block}`, gateway: address(1), address: address(2) };
}

/**
 * Returns the command that starts a container. Mounts, interface and network namespace belong to the process of this
 * command. So the kernel removes them when the process ends, and the process ends with this test.
 */
function command(
  bundle: Bundle,
  config: object,
  setup: readonly string[],
  namespaces: readonly string[] = [],
): string[] {
  writeFileSync(path.join(bundle.folder, "config.json"), JSON.stringify(config));
  const script = [
    "set -e",
    // crun 1.8 refuses hosts with both versions of control groups. An engine would use one of them.
    "if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi",
    ...setup,
    `exec crun run --bundle "${bundle.folder}" ${bundle.name}`,
  ];
  const whole = script.join("\n");
  return ["setpriv", "--pdeathsig", "TERM", "unshare", "--mount", ...namespaces, "sh", "-c", whole];
}

/** Ends the container if it runs, and removes everything that was created for it. */
export function removeBundle({ name, folder }: Bundle): void {
  crun("delete", "--force", name);
  rmSync(folder, { recursive: true, force: true });
}

/** Runs a crun command on a running container. */
export function crun(...words: readonly string[]): void {
  spawnSync("crun", words, { stdio: "ignore" });
}
