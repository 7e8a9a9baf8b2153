import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";

import type { Ended } from "../cli/command.ts";
import { type Answer, request, type RequestOptions } from "../contract/http.ts";
import { until } from "../contract/until.ts";
import type { Image } from "./image.ts";
import { ociConfig, type Process, type RunFlags } from "./oci.ts";
import { type Bundle, chooseNetwork, crun, makeBundle, removeBundle, startContainer } from "./runtime.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const START_MS = 60_000;
const STOP_MS = 20_000;

/** A container that was started like `docker run` does, and the operations on it from outside. */
export interface Container {
  /** Sends a request from outside, to the port that the image exposes. */
  request(method: string, target: string, options?: RequestOptions): Promise<Answer>;
  /** Runs a command like `docker exec`, with only the rights of the container. */
  exec(...words: readonly string[]): Promise<Ended>;
  stdout(): string;
  stderr(): string;
  /** The output of its process 1. */
  readonly ended: Promise<number | null>;
  /** Kills it like `docker kill`. Its files stay for `startAgain`. */
  kill(): Promise<void>;
  /** Starts it again like `docker start`. */
  startAgain(): Container;
  /** Stops it like `docker stop`, and removes it. Returns how process 1 ended. */
  stop(): Promise<number | null>;
}

/** @param words the arguments after the name of the image, which replace its command. */
export function runContainer(
  image: Image,
  flags: RunFlags = {},
  words: readonly string[] = image.config.command,
): Container {
  return runBundle(makeBundle(), image, flags, words);
}

function runBundle(bundle: Bundle, image: Image, flags: RunFlags, words: readonly string[]): Container {
  const { config } = image;
  const network = chooseNetwork();
  const process1: Process = {
    rootfs: bundle.rootfs,
    words: [...config.entrypoint, ...words],
    cwd: config.cwd,
    environment: config.environment,
    network: null,
    binds: [
      ["/usr", "/usr", "ro"],
      ...config.volumes.map((volume) => [makeVolume(bundle, image, volume), volume, "rw"] as const),
      // The attacks and the code that judges them, for `exec`. They are not a part of the image.
      [path.join(ROOT, "test"), "/app/test", "ro"],
    ],
  };
  const oci = ociConfig(process1, flags) as { process: object };
  const child = startContainer(bundle, oci, image.rootfs, network);
  const output = collect(child);
  const ended = once(child, "close").then(([code]) => code as number | null);
  const removeAtExit = (): void => removeBundle(bundle);
  process.once("exit", removeAtExit);
  return {
    ended,
    ...output,
    request: (method, target, options = {}) =>
      request(config.ports[0]!, method, target, { host: network.address, ...options }),
    exec: (...command) => exec(bundle, { ...oci.process, args: command }),
    kill: async () => {
      crun("kill", bundle.name, "KILL");
      await ended;
      process.off("exit", removeAtExit);
    },
    startAgain: () => runBundle(bundle, image, flags, words),
    stop: async () => {
      crun("kill", bundle.name, config.stopSignal);
      const timer = setTimeout(() => crun("kill", bundle.name, "KILL"), STOP_MS);
      const code = await ended;
      clearTimeout(timer);
      process.off("exit", removeAtExit);
      removeBundle(bundle);
      // The kernel removes network namespaces asynchronously.
      let left: string[] = [];
      const isGone = (): boolean => (left = leftOf(bundle, network.device)).length === 0;
      await until(isGone, "all resources of the container are removed").catch((error: unknown) => {
        throw new Error(`the container left behind: ${left.join(", ")}`, { cause: error });
      });
      return code;
    },
  };
}

/** Creates a volume like an engine creates an unnamed volume: with the contents of the image, and a separate mount. */
function makeVolume({ folder }: Bundle, image: Image, volume: string): string {
  const { mode, uid, gid } = statSync(path.join(image.rootfs, volume));
  const made = path.join(folder, "volumes", volume);
  if (existsSync(made)) return made;
  mkdirSync(made, { recursive: true });
  chmodSync(made, mode);
  chownSync(made, uid, gid);
  return made;
}

/** Waits until the service has printed its address, or has ended. */
export async function served(container: Container): Promise<void> {
  let code: number | null | undefined;
  void container.ended.then((exitCode) => (code = exitCode));
  await until(() => /^curl .*\n/m.test(container.stdout()) || code !== undefined, "the container serves", START_MS);
  if (code !== undefined) throw new Error(`the container ended with ${code}: ${container.stderr()}`);
}

/** Waits until a container ends by itself, and removes it. @throws {Error} when it does not end in time. */
export async function endOf(container: Container): Promise<Ended> {
  const { promise: isLate, reject } = Promise.withResolvers<never>();
  const tooLate = (): void => reject(new Error(`the container did not end: ${container.stdout()}`));
  const timer = setTimeout(tooLate, START_MS);
  try {
    const code = await Promise.race([container.ended, isLate]);
    return { code, stdout: container.stdout(), stderr: container.stderr() };
  } finally {
    clearTimeout(timer);
    // It would keep the process of the test from ending.
    await container.stop();
  }
}

function collect(child: ChildProcess): { stdout(): string; stderr(): string } {
  const output = { stdout: "", stderr: "" };
  child.stdout!.setEncoding("utf8").on("data", (chunk: string) => (output.stdout += chunk));
  child.stderr!.setEncoding("utf8").on("data", (chunk: string) => (output.stderr += chunk));
  return { stdout: () => output.stdout, stderr: () => output.stderr };
}

let executed = 0;

async function exec({ name, folder }: Bundle, process: object): Promise<Ended> {
  const file = path.join(folder, `exec-${++executed}.json`);
  writeFileSync(file, JSON.stringify(process));
  const child = spawn("crun", ["exec", "--process", file, name], { stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close") as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}

/** Returns control groups, mounts and devices that an ended container has left. */
function leftOf({ name, folder }: Bundle, device: string): string[] {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.includes(folder));
  const devices = readFileSync("/proc/net/dev", "utf8")
    .split("\n")
    .filter((line) => line.includes(`${device}:`));
  return [...globSync(`/sys/fs/cgroup/**/${name}`), ...mounts, ...devices];
}
