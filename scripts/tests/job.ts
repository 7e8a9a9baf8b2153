import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { text as readAll } from "node:stream/consumers";

import type { Job } from "./plan.ts";
import type { Report } from "./report.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const IS_LONG = process.env["LONG"] === "1";
const GIVING_WAY = ["nice", "-n", "19"];
/** The maximum time of a test, and of a file. Randomized tests that run for longer need more. The test of this script sets a short time. */
const TIMEOUT_MS = Number(process.env["TEST_TIMEOUT_MS"] ?? (IS_LONG ? 60 : 8) * 60_000);
/** How often this time a job of several files has: one file follows the other, and on a busy machine each takes a minute. */
const TIMES_OF_GROUP = 2;
/** The time in which a file must end what it has started. */
const GRACE_MS = Number(process.env["TEST_GRACE_MS"] ?? 10_000);

/** The process groups that are running. */
const running = new Set<number>();

/** What a job ended with. */
export interface Outcome {
  readonly job: Job;
  readonly report: Report | null;
  /** The exit code or the signal. */
  readonly ended: number | string | null;
  /** The time from the start of the job to its end, in milliseconds. */
  readonly tookMs: number;
}

export interface JobOptions {
  /** The folder for temporary files. */
  readonly folder: string;
  /** Words for the runner of Node. */
  readonly flags: readonly string[];
  /** Variables for the tests. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether the output of the job is printed at once, and not after its end. */
  readonly isSeen: boolean;
}

/** Runs one job in a separate process, and ends all that it has started. */
export async function runJob(job: Job, { folder, flags, env, isSeen }: JobOptions): Promise<Outcome> {
  const { name, files, givesWay = false } = job;
  if (isSeen) console.log(`\n${name}`);
  const begunMs = performance.now();
  const result = path.join(folder, `${name.replaceAll("/", "-")}.json`);
  const command = [process.execPath, ...argumentsOf(files, result), ...flags, ...files];
  const [program, ...args] = givesWay ? [...GIVING_WAY, ...command] : command;
  const child = spawn(program!, args, {
    cwd: ROOT,
    stdio: ["ignore", isSeen ? "inherit" : "pipe", isSeen ? "inherit" : "pipe"],
    // A separate process group, which can be ended with everything that the job has started.
    detached: true,
    env: { ...process.env, ...env, TMPDIR: folder },
  });
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => printed.push(chunk));
  running.add(child.pid!);
  const timeoutMs = files.length > 1 ? TIMES_OF_GROUP * TIMEOUT_MS : TIMEOUT_MS;
  const timers = [
    setTimeout(() => end(child.pid!, "SIGTERM"), timeoutMs),
    setTimeout(() => end(child.pid!, "SIGKILL"), timeoutMs + GRACE_MS),
  ];
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  for (const timer of timers) clearTimeout(timer);
  running.delete(child.pid!);
  if (!isSeen) process.stdout.write(`\n${name}\n${Buffer.concat(printed).toString()}`);
  const outcome = { job, report: await readReport(result), ended: code ?? signal, tookMs: performance.now() - begunMs };
  if (isFailed(outcome)) console.log(`✖ ${name} failed`);
  return outcome;
}

export function isFailed({ report, ended }: Outcome): boolean {
  return report === null || ended !== 0 || report.failed > 0;
}

/** Runs `npm run check`. @returns whether it succeeds */
export async function runCheck(givesWay: boolean): Promise<boolean> {
  const [program, ...args] = [...(givesWay ? GIVING_WAY : []), "npm", "run", "-s", "check"];
  const child = spawn(program, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const closed = once(child, "close") as Promise<[number | null]>;
  running.add(child.pid!);
  const printed = await Promise.all([child.stdout, child.stderr].map((stream) => readAll(stream)));
  const [code] = await closed;
  running.delete(child.pid!);
  console.log(`\nnpm run check\n${printed.join("")}`);
  if (code !== 0) console.log("✖ npm run check failed");
  return code === 0;
}

/** Ends all jobs that are running. */
export function endJobs(): void {
  for (const pid of running) end(pid, "SIGTERM");
}

function argumentsOf(files: readonly string[], result: string): string[] {
  const reporters = [
    ["spec", "stdout"],
    [path.join(import.meta.dirname, "report.ts"), result],
  ];
  return [
    "--disable-warning=ExperimentalWarning",
    `--import=${path.join(import.meta.dirname, "without-fetch.mjs")}`,
    ...(files.length > 1 ? ["--test", "--test-isolation=none"] : []),
    `--test-timeout=${TIMEOUT_MS}`,
    ...reporters.flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]),
  ];
}

async function readReport(file: string): Promise<Report | null> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text === "" ? null : (JSON.parse(text) as Report);
}

/** Ends a process with its group. */
function end(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has already ended.
  }
}
