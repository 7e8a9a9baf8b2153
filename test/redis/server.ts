import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { Redis } from "ioredis";

import { redisPlace, type RedisPlace } from "../../src/config/redis-place.ts";
import { type LinkOptions, RedisLink } from "../../src/redis/redis-link.ts";
import { until } from "../contract/until.ts";
import { freePort } from "../ports.ts";

/** The programs that implement the Redis protocol. */
export const SERVERS = ["redis-server", "valkey-server"] as const;
export type ServerProgram = (typeof SERVERS)[number];

/** Returns why tests cannot use a server, for their `skip`, or false if they can. */
export async function missing(program: string): Promise<string | false> {
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter)) {
    try {
      await access(path.join(folder, program));
      return false;
    } catch {
      // Continue with the next folder.
    }
  }
  return `${program} is not installed`;
}

const PATIENCE_MS = 10_000;

/** A server for one test, with its own folder and a free port on loopback. */
export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** A plain client for commands that the service never sends. */
  readonly client: Redis;
  /** Opens a link with a long time limit, for busy machines. */
  link(realm?: string): Promise<RedisLink>;
  /** Opens a link with the time limit of the service. */
  hastyLink(): Promise<RedisLink>;
  /** Closes all links that were opened here. */
  closeLinks(): void;
  /** Whether the process is stopped by SIGSTOP. */
  isStopped(): Promise<boolean>;
  /** Kills the server. Its acknowledged writes are in its file. */
  kill(): Promise<void>;
  /** Starts the server again on its files. */
  restart(): Promise<void>;
}

/** Options with which a killed server keeps its acknowledged writes: it writes its file before it answers. */
const DURABLE = ["--appendonly", "yes", "--appendfsync", "no", "--save", ""];

export async function startRedis(
  options: readonly string[] = DURABLE,
  program: ServerProgram = "redis-server",
  first: readonly string[] = [],
): Promise<RedisServer> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-redis-"));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(
      program,
      [...first, "--port", String(port), "--bind", "127.0.0.1", "--dir", folder, ...options],
      {
        stdio: "ignore",
      },
    );
    child.once("error", () => {});
    return child;
  };
  let child = await start();
  const client = new Redis(port, "127.0.0.1", { retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on("error", () => {});
  const links: RedisLink[] = [];
  const killAtExit = (): void => void child.kill("SIGKILL");
  process.once("exit", killAtExit);
  const ready = (): Promise<void> =>
    until(() => {
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
      return client.status === "ready";
    }, `${program} answers`);
  try {
    await ready();
  } catch (error) {
    client.disconnect();
    throw error;
  }
  const open = async (linkOptions: LinkOptions): Promise<RedisLink> => {
    const link = await RedisLink.open(placeOf(url), linkOptions);
    links.push(link);
    return link;
  };
  const kill = async (): Promise<void> => {
    const gone = child.exitCode === null && child.signalCode === null ? once(child, "exit") : null;
    child.kill("SIGKILL");
    await gone;
  };
  return {
    url,
    port,
    get pid() {
      return child.pid!;
    },
    client,
    link: (realm = "test") => open({ realm, commandMs: PATIENCE_MS }),
    hastyLink: () => open({ realm: "test" }),
    closeLinks: () => {
      for (const link of links.splice(0)) link.close();
    },
    isStopped: async () => / \(.*\) T /.test(await readFile(`/proc/${child.pid}/stat`, "latin1")),
    kill,
    restart: async () => {
      await kill();
      child = await start();
      await ready();
    },
    [Symbol.asyncDispose]: async () => {
      process.off("exit", killAtExit);
      for (const link of links) link.close();
      client.disconnect();
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function placeOf(url: string): RedisPlace {
  return redisPlace(url);
}
