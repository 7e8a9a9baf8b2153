import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

const ROOT = path.join(import.meta.dirname, "..");

/** A server under measurement, in a separate process. */
export interface Measured extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** A plain `node:http` server that reads the body and answers at once. All ratios refer to it. */
export async function startBare(): Promise<Measured> {
  const child = run([path.join(import.meta.dirname, "bare.ts")]);
  return { url: await lineFrom(child, /^http\S+$/), pid: child.pid!, [Symbol.asyncDispose]: () => end(child) };
}

export interface MeasuredService extends Measured {
  readonly token: string;
  /** The time from the start of the process to its banner. */
  readonly startMs: number;
}

export function startService(...flags: string[]): Promise<MeasuredService> {
  return start([], flags);
}

/** Starts a service with a preloaded module that changes it. */
export function startChanged(module: string, ...flags: string[]): Promise<MeasuredService> {
  return start(["--import", path.join(import.meta.dirname, module)], flags, ROOT, "src/main.ts");
}

/** Starts the service of another checkout. @param checkout its folder */
export function startOther(checkout: string, ...flags: string[]): Promise<MeasuredService> {
  return start([], flags, path.resolve(checkout));
}

async function start(
  options: readonly string[],
  flags: readonly string[],
  checkout: string = ROOT,
  program?: string,
): Promise<MeasuredService> {
  const data = await mkdtemp(path.join(tmpdir(), "caisson-bench-"));
  const startedMs = performance.now();
  // A module can be changed only in a service that starts from its source. An old checkout has no build.
  const isBuilt = existsSync(path.join(checkout, "dist/main.js"));
  const main = path.join(checkout, program ?? (isBuilt ? "dist/main.js" : "src/main.ts"));
  const child = run([...options, main, "serve", "--port", "0", "--data", data, "--log-level", "warn", ...flags]);
  const banner = await lineFrom(child, /^curl .*/);
  return {
    url: /http:\/\/[^/]+/.exec(banner)![0],
    pid: child.pid!,
    startMs: performance.now() - startedMs,
    token: (await readFile(path.join(data, "admin.token"), "utf8")).trim(),
    [Symbol.asyncDispose]: async () => {
      await end(child);
      await rm(data, { recursive: true });
    },
  };
}

/** Returns the processor time that a process has used, in milliseconds (proc(5)). */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function run(words: string[]): ChildProcess {
  return spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function lineFrom(child: ChildProcess, pattern: RegExp): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) if (pattern.test(line)) return line;
  throw new Error("the server ended before it served");
}

async function end(child: ChildProcess): Promise<void> {
  child.kill("SIGTERM");
  if (child.exitCode === null) await once(child, "exit");
}
