import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { request } from "../../test/contract/http.ts";
import { until } from "../../test/contract/until.ts";
import { freePort } from "../../test/ports.ts";
import { type RedisServer, startRedis } from "../../test/redis/server.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const START_MS = 60_000;

/** A service process, which may be stopped and started again on one port. */
export interface Node {
  readonly port: number;
  start(): Promise<void>;
  /** Resolves when the process has ended. */
  signal(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  pause(): void;
  resume(): void;
  readonly stderr: string;
}

/** The deployment of `deploy/` on this machine: nodes behind nginx, on one Redis. */
export interface Topology extends AsyncDisposable {
  /** The port of nginx, on loopback. */
  readonly port: number;
  readonly redis: RedisServer;
  readonly nodes: readonly Node[];
  /** An administrative token. */
  readonly admin: string;
}

/**
 * @param flags of all nodes, or of the node with this number, from 1 on
 * @throws {Error} if a part of it does not start.
 */
export async function startTopology(
  count: number,
  flags: readonly string[] | ((number: number) => readonly string[]) = [],
): Promise<Topology> {
  const closers = new AsyncDisposableStack();
  try {
    const folder = await mkdtemp(path.join(tmpdir(), "caisson-scale-"));
    closers.defer(() => rm(folder, { recursive: true, force: true }));
    await chmod(folder, 0o755);
    const redis = closers.use(await startRedis());
    const files = await sharedFiles();
    const nodes: ServiceNode[] = [];
    for (let number = 1; number <= count; number++) {
      const data = path.join(folder, `node-${number}`);
      // The first node creates the files that all nodes share.
      const shared = number === 1 ? [] : files.flatMap(([flag, file]) => [flag, path.join(folder, file)]);
      const nodePort = await freePort();
      const place = ["--node-url", `http://127.0.0.1:${nodePort}`, "--node-name", `n${number}`];
      const words = [
        "--data",
        data,
        "--redis",
        redis.url,
        "--trust-proxy",
        "127.0.0.1/32",
        ...place,
        ...shared,
        ...(typeof flags === "function" ? flags(number) : flags),
      ];
      const node = new ServiceNode(nodePort, words);
      closers.defer(() => node.end());
      await node.start();
      if (number === 1) {
        for (const [, file] of files) await copyFile(path.join(data, file), path.join(folder, file));
      }
      nodes.push(node);
    }
    const admin = (await readFile(path.join(folder, "node-1/admin.token"), "utf8")).trim();
    const port = await freePort();
    const proxy = await startProxy(
      path.join(folder, "nginx"),
      port,
      nodes.map((node) => node.port),
      // The load has one address.
      (config) => config.replace("rate=500r/s", "rate=1000000r/s"),
    );
    closers.defer(() => end(proxy, "SIGTERM"));
    return { port, redis, nodes, admin, [Symbol.asyncDispose]: () => closers.disposeAsync() };
  } catch (error) {
    await closers.disposeAsync();
    throw error;
  }
}

/** Returns the files of the data folder that the nodes of `deploy/compose.yaml` share, and the flags that name them. */
async function sharedFiles(): Promise<(readonly [flag: string, file: string])[]> {
  const compose = await readFile(path.join(ROOT, "deploy/compose.yaml"), "utf8");
  const all = [
    ["--keys", "keys.json", "CAISSON_KEYS"],
    ["--secrets-key", "secrets.key", "CAISSON_SECRETS_KEY"],
  ] as const;
  return all.filter(([, , variable]) => compose.includes(`  ${variable}: `)).map(([flag, file]) => [flag, file]);
}

class ServiceNode implements Node {
  readonly port: number;
  stderr = "";
  readonly #words: readonly string[];
  #child: ChildProcess | null = null;

  constructor(port: number, words: readonly string[]) {
    this.port = port;
    this.#words = words;
  }

  async start(): Promise<void> {
    const words = ["dist/main.js", "serve", "--port", String(this.port), "--log-level", "error", ...this.#words];
    const child = spawn("scripts/node", words, { cwd: ROOT, stdio: ["ignore", "ignore", "pipe"] });
    child.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.#child = child;
    const answers = async (): Promise<boolean> => {
      const ended = child.exitCode ?? child.signalCode;
      if (ended !== null) throw new Error(`a node ended with ${ended}: ${this.stderr}`);
      try {
        return (await request(this.port, "GET", "/healthz", {})).status === 200;
      } catch {
        return false;
      }
    };
    await until(answers, "a node answers", START_MS).catch((error: unknown) => {
      throw new Error(`the node did not start: ${this.stderr}`, { cause: error });
    });
  }

  signal(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    return end(this.#child, signal);
  }

  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  async end(): Promise<void> {
    this.resume();
    await this.signal("SIGTERM");
  }
}

/**
 * Starts nginx with the configuration of `deploy/`, with other paths and ports.
 *
 * @param change shortens times that a test would otherwise wait for.
 */
export async function startProxy(
  folder: string,
  port: number,
  nodes: readonly number[],
  change: (config: string) => string = (config) => config,
): Promise<ChildProcess> {
  await mkdir(folder, { recursive: true });
  const original = await readFile(path.join(ROOT, "deploy/nginx.conf"), "utf8");
  const [first] = /^ *server caisson-1:7070(.*;)$/m.exec(original) ?? [];
  if (first === undefined) throw new Error("deploy/nginx.conf names no caisson-1:7070");
  const servers = nodes.map((node) => first.replace("caisson-1:7070", `127.0.0.1:${node}`));
  const config = change(original)
    .replace(first, servers.join("\n"))
    .replaceAll(/^ *server caisson-\d+:7070.*\n/gm, "")
    .replace("listen 8080", `listen 127.0.0.1:${port}`)
    .replaceAll(" /tmp/", ` ${folder}/`);
  const file = path.join(folder, "nginx.conf");
  await writeFile(file, process.getuid?.() === 0 ? `user root;\n${config}` : config);
  const child = spawn("nginx", ["-p", folder, "-e", "stderr", "-c", file, "-g", "daemon off;"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const answers = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}: ${stderr}`);
    try {
      return (await request(port, "GET", "/healthz", {})).status === 200;
    } catch {
      return false;
    }
  };
  await until(answers, "nginx answers");
  return child;
}

/** Ends a process of the topology, and waits for its end. */
export async function end(child: ChildProcess | null, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}
