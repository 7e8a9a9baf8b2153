import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { isPrivileged } from "../../src/sandbox/privilege.ts";

/** Why no container can be made here, or false. */
export function whyNoContainer(): string | false {
  if (process.platform !== "linux") return "containers are Linux's";
  if (!isPrivileged()) return "only root can do what an engine does";
  if (spawnSync("unshare", ["--mount", "--net", "true"]).status !== 0) return "this root may make no namespaces";
  const missing = ["crun", "ip"].find((program) => spawnSync(program, ["--version"]).error);
  return missing === undefined ? false : `${missing} is not installed; npm run setup installs it`;
}

/** A folder that a container is made in, and its name. */
export interface Bundle {
  readonly name: string;
  readonly folder: string;
  /** Where its root comes, when it is a layer over an image. */
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

/** Runs a container with the network of the host to its end. @throws {Error} with what it said, when it fails. */
export function runToEnd(config: object): void {
  const bundle = makeBundle();
  try {
    const [program, ...words] = command(bundle, config, []);
    execFileSync(program!, words, { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
  } finally {
    removeBundle(bundle);
  }
}

/** Starts a container on a layer of its own over an image, behind a network interface of its own. */
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

/** One end is the container's `eth0`, the other a device of the host, as on an engine's bridge. */
export interface Network {
  readonly device: string;
  readonly gateway: string;
  readonly address: string;
}

/** In the range for benchmarks, which no network uses (RFC 2544): a block of four addresses, by chance, for tests at once. */
export function chooseNetwork(): Network {
  const block = randomInt(BLOCKS);
  const address = (last: number): string =>
    `198.${18 + (block >> 14)}.${(block >> 6) & 0xff}.${((block & 0x3f) << 2) + last}`;
  return { device: `caisson${block}`, gateway: address(1), address: address(2) };
}

/**
 * The command that makes a container. Mounts, interface and network namespace are this very process's, so the kernel takes
 * them away with it, however it ends; and it ends with this test.
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
    // crun 1.8 refuses hosts that have both versions of control groups; an engine would be on one of them.
    "if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi",
    ...setup,
    `exec crun run --bundle "${bundle.folder}" ${bundle.name}`,
  ];
  const whole = script.join("\n");
  return ["setpriv", "--pdeathsig", "TERM", "unshare", "--mount", ...namespaces, "sh", "-c", whole];
}

/** Ends it if it runs, and removes all that was made for it. */
export function removeBundle({ name, folder }: Bundle): void {
  crun("delete", "--force", name);
  rmSync(folder, { recursive: true, force: true });
}

/** For what crun does to a container that runs. */
export function crun(...words: readonly string[]): void {
  spawnSync("crun", words, { stdio: "ignore" });
}
