import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

import { Trail } from "../test/contract/trail.ts";

const ROOT = path.join(import.meta.dirname, "..");
/** The characters of the errors of a server that did not start, which are shown. */
const SHOWN_ERRORS = 2_000;
const STOP_MS = 15_000;

/** The servers that run now. They end with this process, also if it fails or is interrupted. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGTERM");
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

/** A server under measurement, in a separate process. */
export interface Measured extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** A plain `node:http` server that reads the body and answers at once. All ratios refer to it. */
export function startBare(): Promise<Measured> {
  return startServer(process.execPath, [path.join(import.meta.dirname, "bare.ts")], /^http\S+$/);
}

/** Starts a server, and takes its address from a line that it prints. @param pattern matches the line; group 1 is a port */
export async function startServer(program: string, words: readonly string[], pattern: RegExp): Promise<Measured> {
  const child = run(program, words);
  const line = await lineFrom(child, pattern);
  const port = pattern.exec(line)![1];
  const url = port === undefined ? line : `http://127.0.0.1:${port}`;
  return { url, pid: child.pid!, [Symbol.asyncDispose]: () => end(child) };
}

export interface MeasuredService extends Measured {
  readonly token: string;
  /** The time from the start of the process to its banner. */
  readonly startMs: number;
  /** Finds the guests of the service. */
  readonly trail: Trail;
}

/** Writes what a data folder has before the start. */
export type Seed = (data: string) => Promise<void>;

export function startService(...flags: readonly string[]): Promise<MeasuredService> {
  return start([], flags);
}

/** Starts a service with a data folder that has something in it. @param seed receives the folder, which does not exist yet */
export function startSeeded(seed: Seed, ...flags: readonly string[]): Promise<MeasuredService> {
  return start([], flags, ROOT, undefined, seed);
}

/** Starts a service with a preloaded module that changes it. */
export function startChanged(module: string, ...flags: readonly string[]): Promise<MeasuredService> {
  return start(["--import", path.join(import.meta.dirname, module)], flags, ROOT, "src/main.ts");
}

/** Starts the service of another checkout. @param checkout its folder */
export function startOther(checkout: string, ...flags: readonly string[]): Promise<MeasuredService> {
  return start([], flags, path.resolve(checkout));
}

async function start(
  options: readonly string[],
  flags: readonly string[],
  checkout: string = ROOT,
  program?: string,
  seed?: Seed,
): Promise<MeasuredService> {
  const home = await makeHome();
  await seed?.(home.data);
  const startedMs = performance.now();
  // A module can be changed only in a service that starts from its source. An old checkout has no build.
  const isBuilt = existsSync(path.join(checkout, "dist/main.js"));
  const main = path.join(checkout, program ?? (isBuilt ? "dist/main.js" : "src/main.ts"));
  const words = [...options, main, "serve", "--port", "0", "--data", home.data, "--log-level", "warn", ...flags];
  const child = run(process.execPath, ["--disable-warning=ExperimentalWarning", ...words], { TMPDIR: home.tmp });
  try {
    const banner = await lineFrom(child, /^curl .*/);
    return {
      url: /http:\/\/[^/]+/.exec(banner)![0],
      pid: child.pid!,
      startMs: performance.now() - startedMs,
      token: (await readFile(path.join(home.data, "admin.token"), "utf8")).trim(),
      trail: new Trail({ ...home, [Symbol.asyncDispose]: () => Promise.resolve() }),
      [Symbol.asyncDispose]: async () => {
        await end(child);
        await rm(home.folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await end(child);
    await rm(home.folder, { recursive: true, force: true });
    throw error;
  }
}

/** Creates the folders of a service. The helper of the tests needs packages that a start does not install. */
async function makeHome(): Promise<{ folder: string; data: string; tmp: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-bench-"));
  // A guest with a separate user id must be able to reach its program below this folder.
  await chmod(folder, 0o755);
  const home = { folder, data: path.join(folder, "data"), tmp: path.join(folder, "tmp") };
  await mkdir(home.tmp);
  return home;
}

/** Returns the processor time that a process has used, in milliseconds (proc(5)). */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function run(program: string, words: readonly string[], environment: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...environment } });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

async function lineFrom(child: ChildProcess, pattern: RegExp): Promise<string> {
  let errors = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (errors = (errors + text).slice(-SHOWN_ERRORS)));
  const failed = once(child, "error").then(([error]) => Promise.reject(error as Error));
  const found = (async () => {
    for await (const line of createInterface({ input: child.stdout! })) if (pattern.test(line)) return line;
    throw new Error(`the server ended before it served: ${errors.trim()}`);
  })();
  return Promise.race([found, failed]);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await exited;
  clearTimeout(timer);
}
