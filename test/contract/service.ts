import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";

import { type CodeServer, type ReservedServer, reserveServer } from "./code-server.ts";
import { type Answer, type RequestOptions, request, sendRaw } from "./http.ts";
import { checkAnswer } from "./openapi.ts";
import { Trail } from "./trail.ts";
import { until } from "./until.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const START_MS = 60_000;
const STOP_MS = 10_000;
/** The characters of the log that a failed wait for a line shows. */
const SHOWN_LOG = 4_000;

/** A service that is started in the way an operator starts it, with the actions that a test needs. */
export interface Service {
  readonly url: string;
  readonly port: number;
  /** The id of the process that serves. */
  readonly pid: number;
  /** What the service has on the machine outside its data. */
  readonly trail: Trail;
  /** The text of the administrative token. */
  readonly admin: string;
  readonly data: string;
  /** Sends the administrative token unless the options have another. */
  request(method: string, target: string, options?: RequestOptions): Promise<Answer>;
  /** Posts code to a container. */
  run(container: string, code: string | Uint8Array, options?: RequestOptions): Promise<Answer>;
  /** Issues a token with these claims. @returns its text */
  issue(claims: object): Promise<string>;
  /** Writes bytes to a new connection. @returns everything that arrives until it closes */
  raw(...bytes: readonly (string | Uint8Array)[]): Promise<string>;
  stdout(): string;
  stderr(): string;
  /** Waits for a line of the log. The service may write it after the answer. */
  logLine(matches: (line: string) => boolean): Promise<string>;
  /** Ends the service with SIGTERM. Fails if a process, a control group or a file stays behind. */
  stop(): Promise<void>;
  /** Kills the service. Fails if its guests do not end with it. */
  kill9(): Promise<void>;
}

/** Folders that outlive a service, for services that are started on them again. */
export interface Home extends AsyncDisposable {
  readonly data: string;
  readonly tmp: string;
  /** The PATH of the service; default: that of the tests. */
  readonly path?: string;
  /** The user id that starts the service; default: that of the tests. */
  readonly uid?: number;
  /** Whether the service gets a separate process group, as a shell in a terminal starts it. */
  readonly detached?: boolean;
  /** The number of file descriptors that the service may have. */
  readonly descriptors?: number;
  /** The options of Node for the service. */
  readonly nodeOptions?: string;
  /** Whether the service starts from its source and not from its build, so that an option of Node can change a module. */
  readonly fromSource?: boolean;
  /** The program of the service; default: the build of this checkout. */
  readonly program?: string;
}

/** Flags for a test that does not depend on the sandbox. Proving the sandbox takes a third of a start. */
export const NO_WALL: readonly string[] = ["--isolation", "none"];

/** Starts a service on a free port. Without a home it gets a new one, which `stop` removes. */
export async function startService(flags: readonly string[] = [], home?: Home): Promise<Service> {
  const place = home ?? (await makeHome());
  const trail = new Trail(place);
  const child = launch(flags, place);
  const output = { stdout: "", stderr: "" };
  child.stdout!.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const exited = once(child, "exit");
  const killAtExit = (): void => void child.kill("SIGKILL");
  process.once("exit", killAtExit);
  /** @param isGone whether all processes are known to have ended */
  const afterExit = async (isGone = false): Promise<void> => {
    await exited;
    process.off("exit", killAtExit);
    try {
      if (!isGone) await until(async () => (await trail.processes()).length === 0, "the guests have ended");
    } finally {
      if (!home) await place[Symbol.asyncDispose]();
    }
  };
  const ready = (): boolean => /^curl .*\n/m.test(output.stdout) || child.exitCode !== null;
  try {
    await until(ready, "the service has started", START_MS);
  } catch (error) {
    // The process of the service would keep the process of the test alive.
    child.kill("SIGKILL");
    await afterExit();
    throw new Error(`the service did not start: ${output.stderr}`, { cause: error });
  }
  if (child.exitCode !== null) {
    await afterExit();
    throw new Error(`the service ended with ${child.exitCode} before it served: ${output.stderr}`);
  }

  const url = /serves at (https?:\/\/\S+)/.exec(output.stdout)![1]!;
  const admin = (await readFile(path.join(place.data, "admin.token"), "utf8")).trim();
  const port = Number(new URL(url).port);
  const send: Service["request"] = async (method, target, options = {}) => {
    const answer = await request(port, method, target, { token: admin, ...options });
    checkAnswer(method, target, answer);
    return answer;
  };
  return {
    url,
    port,
    pid: child.pid!,
    trail,
    admin,
    data: place.data,
    request: send,
    run: (container, code, options = {}) => send("POST", `/api/run/${container}`, { body: code, ...options }),
    issue: async (claims) => {
      const answer = await send("POST", "/api/tokens", { json: claims });
      if (answer.status !== 201) throw new Error(`no token was issued: ${answer.text}`);
      return (answer.json() as { token: string }).token;
    },
    raw: (...bytes) => sendRaw(port, bytes),
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    logLine: async (matches) => {
      const find = (): string | undefined => output.stderr.split("\n").find(matches);
      try {
        await until(() => find() !== undefined, "the log has the line");
      } catch (error) {
        throw new Error(`the log does not have the line: ${output.stderr.slice(-SHOWN_LOG)}`, { cause: error });
      }
      return find()!;
    },
    stop: async () => {
      await trail.processes();
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      const [code, signal] = (await exited) as [number | null, string | null];
      clearTimeout(timer);
      // Without a wait, because the service has waited for everything that it started.
      const left = await trail.left();
      await afterExit(left.length === 0);
      if (code !== 0) throw new Error(`the service ended with ${code ?? signal} when it was stopped: ${output.stderr}`);
      if (left.length > 0) throw new Error(`the service left behind: ${left.join(", ")}`);
    },
    kill9: async () => {
      child.kill("SIGKILL");
      await afterExit();
    },
  };
}

/** A service that several files share. */
export interface SharedService extends Service {
  /** Starts a server that the service may reach. */
  serveCode(answer: RequestListener): CodeServer;
}

/** The servers that the shared service may reach: more than all files of a process need. */
const RESERVED_SERVERS = 16;

let shared: Promise<{ service: Service; servers: ReservedServer[] }> | null = null;
let sharers = 0;

/**
 * Returns a service with the flags of `NO_WALL` that all files of a process share. The last `stop` ends it. The runner puts the files
 * of a folder that call this into one process, so no file may depend on an empty service, or change what others see.
 */
export async function shareService(): Promise<SharedService> {
  sharers += 1;
  const { service, servers } = await (shared ??= startShared());
  const stop = async (): Promise<void> => {
    sharers -= 1;
    if (sharers > 0) return;
    shared = null;
    try {
      await service.stop();
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
  };
  const serveCode: SharedService["serveCode"] = (answer) => {
    const server = servers.pop();
    if (!server) throw new Error(`the files of this process need more than ${RESERVED_SERVERS} servers`);
    return server.open(answer);
  };
  return { ...service, serveCode, stop };
}

/** The service must know the addresses of the servers at its start, before a file sets what they answer. */
async function startShared(): Promise<{ service: Service; servers: ReservedServer[] }> {
  const servers = await Promise.all(Array.from({ length: RESERVED_SERVERS }, reserveServer));
  const allowed = servers.flatMap(({ address }) => ["--egress-allow", address]);
  return { service: await startService([...NO_WALL, ...allowed]), servers };
}

/** Stops a service and removes its home, even if the stop fails. */
export async function leave(service: Service, home: Home): Promise<void> {
  try {
    await service.stop();
  } finally {
    await home[Symbol.asyncDispose]();
  }
}

/** Creates a data folder and a folder for temporary files, which are removed when the home is disposed of. */
export async function makeHome(): Promise<Home> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-contract-"));
  // A guest with a separate user id must be able to reach its program below this folder.
  await chmod(folder, 0o755);
  const home = { data: path.join(folder, "data"), tmp: path.join(folder, "tmp") };
  await mkdir(home.tmp);
  return { ...home, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/** Starts the command line on a home. The first argument is the verb. */
export function caisson(home: Home, ...words: readonly string[]): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(CAISSON|NODE)_/.test(name));
  const command = [
    "scripts/node",
    home.fromSource === true ? "src/main.ts" : (home.program ?? "dist/main.js"),
    ...words,
    "--data",
    home.data,
  ];
  const limited =
    home.descriptors === undefined ? [] : ["sh", "-c", `ulimit -n ${home.descriptors} && exec "$@"`, "sh"];
  const [file, ...args] = [...limited, ...command] as [string, ...string[]];
  return spawn(file, args, {
    cwd: ROOT,
    env: {
      ...Object.fromEntries(inherited),
      TMPDIR: home.tmp,
      ...(home.path === undefined ? {} : { PATH: home.path }),
      ...(home.nodeOptions === undefined ? {} : { NODE_OPTIONS: home.nodeOptions }),
    },
    detached: home.detached ?? false,
    ...(home.uid === undefined ? {} : { uid: home.uid, gid: home.uid }),
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** A step that takes milliseconds on an idle machine takes seconds on one that runs other tests. */
const LONG_STEPS = ["--block-limit", "20s"];
/**
 * Each guest takes processor time at its start, and a service with a pool ends with up to eight spares that no test has used. The
 * tests of what a pool changes have one.
 */
const NO_POOL = ["--pool", "0"];

/**
 * Flags for most tests, which use more container names than a tenant may, and more tokens than a client has. Flags
 * of the test override these.
 */
const MANY_CONTAINERS = ["--token-new-containers", "100000"];
const MANY_CHECKS = ["--auth-limit", "minute=100000"];

function launch(flags: readonly string[], home: Home): ChildProcess {
  return caisson(
    home,
    "serve",
    "--port",
    "0",
    ...MANY_CONTAINERS,
    ...(flags.includes("--auth-limit") ? [] : MANY_CHECKS),
    ...(flags.includes("--block-limit") ? [] : LONG_STEPS),
    ...(flags.includes("--pool") ? [] : NO_POOL),
    ...flags,
  );
}
