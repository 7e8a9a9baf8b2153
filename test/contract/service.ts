import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { type Answer, type RequestOptions, request, sendRaw } from "./http.ts";
import { Trail } from "./trail.ts";
import { until } from "./until.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const START_MS = 60_000;
const STOP_MS = 10_000;

/** A service that was started as a user starts it, and what a test may do to it. */
export interface Service {
  readonly url: string;
  readonly port: number;
  /** Of its process that serves. */
  readonly pid: number;
  /** What it has on the machine outside its data. */
  readonly trail: Trail;
  /** The text of the administrative token. */
  readonly admin: string;
  readonly data: string;
  /** Sends the administrative token unless told otherwise. */
  request(method: string, target: string, options?: RequestOptions): Promise<Answer>;
  /** Posts code to a container. */
  run(container: string, code: string | Uint8Array, options?: RequestOptions): Promise<Answer>;
  /** Issues a token that has these claims, and gives its text. */
  issue(claims: object): Promise<string>;
  /** Writes bytes to a fresh connection and gives all that comes back until it closes. */
  raw(...bytes: readonly (string | Uint8Array)[]): Promise<string>;
  stdout(): string;
  stderr(): string;
  /** Waits for a line of its log, which may be written after the answer that it is about. */
  logLine(matches: (line: string) => boolean): Promise<string>;
  /** Ends it as a user does, and fails when a process, a control group or a file of it stays behind. */
  stop(): Promise<void>;
  /** Kills it, and fails when its guests do not go with it. */
  kill9(): Promise<void>;
}

/** A folder that outlives a service, for those that are started again on it. */
export interface Home extends AsyncDisposable {
  readonly data: string;
  readonly tmp: string;
  /** Where its programs are looked for; without it, where the tests look. */
  readonly path?: string;
  /** Who starts the service; without it, who runs the tests. */
  readonly uid?: number;
  /** The service gets a process group of its own, as a shell gives it one in a terminal. */
  readonly detached?: boolean;
  /** Of Node, for the service. */
  readonly nodeOptions?: string;
}

/** For a test whose subject is not the wall: to prove that it holds takes a third of a start. */
export const NO_WALL: readonly string[] = ["--isolation", "none"];

/** Starts a service on a free port. Without a home it gets one of its own, which `stop` removes. */
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
  const gone = async (): Promise<void> => {
    await exited;
    process.off("exit", killAtExit);
    try {
      await until(async () => (await trail.processes()).length === 0, "the guests have ended");
    } finally {
      if (!home) await place[Symbol.asyncDispose]();
    }
  };
  const ready = (): boolean => /^curl .*\n/m.test(output.stdout) || child.exitCode !== null;
  try {
    await until(ready, "the service has started", START_MS);
  } catch (error) {
    // Its process would keep that of the test from ending.
    child.kill("SIGKILL");
    await gone();
    throw new Error(`the service did not start: ${output.stderr}`, { cause: error });
  }
  if (child.exitCode !== null) {
    await gone();
    throw new Error(`the service ended with ${child.exitCode} before it served: ${output.stderr}`);
  }

  const url = /serves at (http:\/\/\S+)/.exec(output.stdout)![1]!;
  const admin = (await readFile(path.join(place.data, "admin.token"), "utf8")).trim();
  const port = Number(new URL(url).port);
  const send: Service["request"] = (method, target, options = {}) => {
    return request(port, method, target, { token: admin, ...options });
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
      await until(() => find() !== undefined, "the log has the line");
      return find()!;
    },
    stop: async () => {
      await trail.processes();
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      const [code, signal] = (await exited) as [number | null, string | null];
      clearTimeout(timer);
      // Now and not soon: it has waited for all that it started.
      const left = await trail.left();
      await gone();
      if (code !== 0) throw new Error(`the service ended with ${code ?? signal} when it was stopped: ${output.stderr}`);
      if (left.length > 0) throw new Error(`the service left behind: ${left.join(", ")}`);
    },
    kill9: async () => {
      child.kill("SIGKILL");
      await gone();
    },
  };
}

/** Stops a service and removes its home, also when the stop fails. */
export async function leave(service: Service, home: Home): Promise<void> {
  try {
    await service.stop();
  } finally {
    await home[Symbol.asyncDispose]();
  }
}

/** Makes a data folder and a folder for temporary files, removed when it is disposed of. */
export async function makeHome(): Promise<Home> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-contract-"));
  // A guest that runs under a uid of its own must be able to walk through the folder to its program.
  await chmod(folder, 0o755);
  const home = { data: path.join(folder, "data"), tmp: path.join(folder, "tmp") };
  await mkdir(home.tmp);
  return { ...home, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/** Starts the command line on a home, the verb first. */
export function caisson(home: Home, ...words: readonly string[]): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(CAISSON|NODE)_/.test(name));
  return spawn("scripts/node", ["src/main.ts", ...words, "--data", home.data], {
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

/**
 * Most tests walk through names, as the administrator, faster than any tenant may, and bring more tokens than a client has.
 * Flags that are given win.
 */
const ROOMY = ["--token-new-containers", "100000"];
const ROOMY_CHECKS = ["--auth-limit", "minute=100000"];

function launch(flags: readonly string[], home: Home): ChildProcess {
  return caisson(
    home,
    "serve",
    "--port",
    "0",
    ...ROOMY,
    ...(flags.includes("--auth-limit") ? [] : ROOMY_CHECKS),
    ...flags,
  );
}
