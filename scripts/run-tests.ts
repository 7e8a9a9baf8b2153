/**
 * Runs the named tests, or all tests, in two passes: most files in parallel, and then each file alone that other files
 * would disturb. A run of all files repeats the few that failed, alone. Prints the slowest files, and the counts in the last
 * line. With `--check`, `npm run check` runs too, and counts as one failed test if it fails. What only computes runs next to
 * the attacks, which use one processor.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, globSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { availableParallelism, cpus, tmpdir } from "node:os";
import path from "node:path";
import { text as readAll } from "node:stream/consumers";

import { openApiDocument } from "../src/http/openapi/document.ts";
import { drawn } from "../test/seeded.ts";
import type { Report } from "./test-report.ts";

/** Files that start and share nothing: no process, no port, no folder, no clock. One process runs all of them. */
const IN_ONE_PROCESS = [
  "test/!(idle-memory|young-generation).test.ts",
  "test/{config,http,policies,redaction,source,telemetry,tasks,tokens,wire}/**/*.test.ts",
  "test/limits/*.test.ts",
];
/** The attacks: one after the other, each with the processor time that it takes from the service. */
const ATTACKS = "test/hostile/corpus.test.ts";
/** Files that compare times, fill the machine, or read figures of the whole machine. */
const ALONE = [
  ATTACKS,
  "test/containers/{pool,watch/cpu-hogs,watch/deadlines,watch/watchdog}.test.ts",
  "test/redis/redis-replies.test.ts",
  "test/sandbox/{cgroup/cgroup,temp/stale-folders}.test.ts",
];
/**
 * The folder in memory for the temporary files of the tests. On a disk, a test takes up to a third more processor time, and
 * waits for each change that a service stores. A long run uses the disk.
 */
const MEMORY = "/dev/shm";
/** The bytes that must be free in it. */
const MEMORY_BYTES = 4 * 2 ** 30;
/**
 * The number of files in parallel. Files mostly wait for processes, limits and servers, and compute little. Further files
 * begin while the processors are idle.
 */
const AT_ONCE = Math.ceil(2.5 * Math.min(availableParallelism(), 4));
const MOST_AT_ONCE = AT_ONCE + 3;
/** The part of the processor time that is idle before a further file begins, and the time in which it is measured. */
const IDLE_PART = 0.3;
const IDLE_MS = 1_000;
const CHECK = ["npm", "run", "-s", "check"];
const GIVING_WAY = ["nice", "-n", "19"];
const IS_LONG = process.env["LONG"] === "1";

/**
 * The maximum number of failed jobs that are repeated, alone, after all other jobs. Tests race with real processes, and a
 * shared machine may stop for seconds: the same failure seldom happens twice. A defect of caisson does, and many failures at once
 * are no accident. Named files and long runs are not repeated, because they look for failures that are rare.
 */
const MOST_REPEATED = Number(process.env["TEST_REPEATED"] ?? (IS_LONG || process.argv.slice(2).some(isName) ? 0 : 6));

/** The maximum number of files in one process that share a service: together they must end within the time of a job. */
const SHARERS = 10;

const SLOWEST = 10;
const MINUTE_MS = 60_000;
/** The maximum time of a test, and of a file. Randomized tests that run for longer need more. The test of this script sets a short time. */
const TIMEOUT_MS = Number(process.env["TEST_TIMEOUT_MS"] ?? (IS_LONG ? 60 : 8) * MINUTE_MS);
/** The time in which a file must end what it has started. */
const GRACE_MS = Number(process.env["TEST_GRACE_MS"] ?? 10_000);

/** The files that took longest in a whole run. A clean checkout has no durations of an earlier run. */
const LONGEST = [
  "test/contract/shares.test.ts",
  "test/contract/faults.test.ts",
  "test/documents/commands.test.ts",
  "test/console/console.test.ts",
  "test/container/default.test.ts",
  "test/contract/level-parity.test.ts",
  "test/sandbox/confined.test.ts",
  "test/contract/limits-hit.test.ts",
  "test/deploy/nginx.test.ts",
  "test/contract/named-tasks.test.ts",
  "test/contract/secrets.test.ts",
  "test/contract/caps.test.ts",
  "test/records/usage/restarts.test.ts",
  "test/cli/doctor.test.ts",
  "test/contract/packages.test.ts",
  "test/hostile/frames.test.ts",
  "test/builder/builder.test.ts",
  "test/contract/nothing-left.test.ts",
];
const LONG_FILE_MS = 10 * MINUTE_MS;
/** Long files about special cases of what other files test. A run of all files takes a third of them, and a long run all. */
const SAMPLED = [
  "test/backup/places.test.ts",
  "test/cli/{doctor,keys,login,lost-keys,package,token}.test.ts",
  "test/console/{lists,packages,safety,separate-origin}.test.ts",
  "test/container/{default,variants}.test.ts",
  "test/contract/{after-answer,downgrade,launcher,level-parity,nothing-left,parties,record-attacks,record-bounds}.test.ts",
  "test/contract/{quotas,record-memory,redis-promise,usage,worst-cases}.test.ts",
  "test/deploy/{mcp,nginx,nodes,scale}.test.ts",
  "test/limits/{promise/promise,stores/mishaps}.test.ts",
  "test/records/usage/restarts.test.ts",
  "test/sandbox/isolation-levels.test.ts",
];
const SAMPLED_PART = 1 / 3;

interface Job {
  readonly name: string;
  readonly files: readonly string[];
  /** Whether the job gives way to all other processes. */
  readonly givesWay?: boolean;
}

const startedMs = performance.now();
const root = path.dirname(import.meta.dirname);
const cache = path.join(root, "node_modules/.cache/caisson-tests");
const durationsFile = path.join(cache, "durations.json");
const words = process.argv.slice(2);
const flags = words.filter((word) => word.startsWith("--") && word !== "--check");
const named = words.filter(isName);
const running = new Set<number>();
await using folder = await mkdtempDisposable(path.join((!IS_LONG && memoryFolder()) || tmpdir(), "tests-"));
// A folder like `/tmp`: some tests start a service as another user.
chmodSync(folder.path, 0o1777);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    for (const pid of running) end(pid, "SIGTERM");
    rmSync(folder.path, { recursive: true, force: true });
    process.exit(1);
  });
}

// The tests start the service from its build, and use the client and the console as they are published.
for (const build of ["build.ts", "build-client.ts", "build-console.ts"]) {
  const { status } = spawnSync(process.execPath, [path.join(import.meta.dirname, build)], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
const openApiFile = path.join(folder.path, "openapi.json");
writeFileSync(openApiFile, JSON.stringify(openApiDocument()));
const durations = readDurations();
const latest = new Map<string, number>();
const counts = { passed: 0, failed: 0, skipped: 0 };
const failed: Outcome[] = [];
const planned = plan();
console.log(`${named.length > 0 ? "" : "all: "}${describePlan(planned)}`);
const isChecked = words.includes("--check");
if (planned.attacks) {
  await runJobs(longestFirst(planned.concurrent), AT_ONCE, MOST_AT_ONCE);
  const givingWay = planned.pure.map((job) => runJob({ ...job, givesWay: true }, false));
  await Promise.all([runJobs([planned.attacks], 1, 1), ...givingWay, isChecked && check(GIVING_WAY)]);
} else {
  const checked = isChecked && check();
  await runJobs(longestFirst([...planned.concurrent, ...planned.pure]), AT_ONCE, MOST_AT_ONCE);
  await checked;
}
await runJobs(planned.alone, 1, 1);
const repeated = failed.length <= MOST_REPEATED ? failed.splice(0) : [];
for (const { job } of repeated) {
  console.log(`\nagain, and alone: ${job.name}`);
  await runJob(job, true);
}
for (const outcome of failed) count(outcome);
// The durations are stored only if all files have run.
mkdirSync(cache, { recursive: true });
writeFileSync(durationsFile, JSON.stringify(Object.fromEntries([...durations, ...latest])));

console.log(`\nthe ${SLOWEST} slowest files, in seconds:`);
for (const [file, ms] of [...latest].toSorted((a, b) => b[1] - a[1]).slice(0, SLOWEST)) {
  console.log(`${(ms / 1_000).toFixed(1).padStart(7)}  ${file}`);
}
for (const { job } of repeated.filter((first) => !failed.some((again) => again.job === first.job))) {
  console.log(`failed at first, and passed when it ran again and alone: ${job.name}`);
}
console.log(`in all ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;

/** What a job ended with. */
interface Outcome {
  readonly job: Job;
  readonly report: Report | null;
  /** The exit code or the signal. */
  readonly ended: number | string | null;
}

interface Plan {
  readonly concurrent: readonly Job[];
  /** The attacks, if they run with all other files. */
  readonly attacks: Job | null;
  /** The jobs that run alone. */
  readonly alone: readonly Job[];
  /** The files that only compute, as one job or none. */
  readonly pure: readonly Job[];
}

function plan(): Plan {
  const chosen = named.length > 0 ? filesOf(named) : withoutSampled(filesOf(["test/**/*.test.ts"]));
  const lone = new Set(filesOf(ALONE));
  const quiet = new Set(filesOf(IN_ONE_PROCESS).filter((file) => !lone.has(file) && sharesNothing(file)));
  const together = chosen.filter((file) => quiet.has(file));
  const others = chosen.filter((file) => !quiet.has(file)).map((file) => ({ name: file, files: [file] }));
  const pure = together.length > 0 ? [{ name: `${together.length} files in one process`, files: together }] : [];
  const alone = others.filter(({ name }) => lone.has(name));
  const concurrent = withSharedServices(others.filter(({ name }) => !lone.has(name)));
  const attacks = concurrent.length > 0 ? (alone.find(({ name }) => name === ATTACKS) ?? null) : null;
  return { concurrent, attacks, alone: alone.filter((job) => job !== attacks), pure };
}

/** Replaces the jobs of files in one folder that share a service by jobs of several files. */
function withSharedServices(jobs: readonly Job[]): Job[] {
  const sharing = jobs.filter(({ name }) => /\bshareService\(/.test(readFileSync(path.join(root, name), "utf8")));
  const folders = Map.groupBy(sharing, ({ name }) => path.dirname(name));
  const groups = [...folders].flatMap(([folderName, ofFolder]) => {
    const parts = Math.ceil(ofFolder.length / SHARERS);
    return Array.from({ length: parts }, (_, at) => {
      const files = ofFolder.filter((__, index) => index % parts === at).flatMap((job) => job.files);
      return { name: files.length === 1 ? files[0]! : `${files.length} files of ${folderName}, part ${at + 1}`, files };
    });
  });
  return [...jobs.filter((job) => !sharing.includes(job)), ...groups];
}

/** Leaves out most of the sampled files, other ones in each run. */
function withoutSampled(files: readonly string[]): string[] {
  const sampled = filesOf(SAMPLED);
  const kept = new Set(drawn("long files", sampled, Math.ceil(sampled.length * SAMPLED_PART)));
  return files.filter((file) => kept.has(file) || !sampled.includes(file));
}

/** Sorts jobs so that no long job is left at the end. */
function longestFirst(jobs: readonly Job[]): Job[] {
  return jobs.toSorted((a, b) => expectedMs(b) - expectedMs(a));
}

function describePlan({ concurrent, pure, attacks, alone }: Plan): string {
  const [many, few] = [[...concurrent, ...pure], [attacks, ...alone].filter((job) => job !== null)].map(
    (jobs) => jobs.flatMap(({ files }) => files).length,
  );
  return `${many} files side by side, ${few} alone`;
}

/** Returns the duration of the files in the last run, or an estimate for those that are new. */
function expectedMs({ files }: Job): number {
  return sum(files.map((file) => durations.get(file) ?? estimateMs(file)));
}

/** Larger files take longer, and those that start services take far longer. */
function estimateMs(file: string): number {
  const place = LONGEST.indexOf(file);
  if (place !== -1) return (LONGEST.length - place) * LONG_FILE_MS;
  const text = readFileSync(path.join(root, file), "utf8");
  return text.length * (/\b(?:startService|shareService|openSandbox|execFile)\(/.test(text) ? 10 : 1);
}

/** Runs `atOnce` jobs in parallel, and up to `most` while the processors are idle. */
async function runJobs(jobs: readonly Job[], atOnce: number, most: number): Promise<void> {
  const left = [...jobs];
  const isSeen = Math.min(atOnce, jobs.length) === 1;
  const work = async (): Promise<void> => {
    for (let job = left.shift(); job; job = left.shift()) await runJob(job, isSeen);
  };
  const workers = Array.from({ length: atOnce }, work);
  const further = new Set<Promise<void>>();
  let before = processorTimes();
  const timer = setInterval(() => {
    const now = processorTimes();
    const isIdle = now.idle - before.idle > IDLE_PART * (now.all - before.all);
    before = now;
    const job = isIdle && atOnce + further.size < most ? left.shift() : undefined;
    if (!job) return;
    const done: Promise<void> = runJob(job, isSeen).finally(() => further.delete(done));
    further.add(done);
  }, IDLE_MS);
  await Promise.all(workers);
  await Promise.all(further);
  clearInterval(timer);
}

/** Returns the processor time of this machine since its start, in milliseconds. */
function processorTimes(): { idle: number; all: number } {
  const times = cpus().map((cpu) => cpu.times);
  return { idle: sum(times.map(({ idle }) => idle)), all: sum(times.flatMap((each) => Object.values(each))) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** @param isSeen whether the output of the job is printed at once, and not after its end. */
async function runJob(job: Job, isSeen: boolean): Promise<void> {
  const { name, files, givesWay = false } = job;
  if (isSeen) console.log(`\n${name}`);
  const begunMs = performance.now();
  const result = path.join(folder.path, `${name.replaceAll("/", "-")}.json`);
  const command = [process.execPath, ...argumentsOf(files, result), ...files];
  const [program, ...args] = givesWay ? [...GIVING_WAY, ...command] : command;
  const child = spawn(program!, args, {
    cwd: root,
    stdio: ["ignore", isSeen ? "inherit" : "pipe", isSeen ? "inherit" : "pipe"],
    // A separate process group, which can be ended with everything that the job has started.
    detached: true,
    // A compile cache, so that not every process strips and compiles the same files.
    env: { ...process.env, NODE_COMPILE_CACHE: cache, TEST_OPENAPI: openApiFile, TMPDIR: folder.path },
  });
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => printed.push(chunk));
  running.add(child.pid!);
  const timers = [
    setTimeout(() => end(child.pid!, "SIGTERM"), TIMEOUT_MS),
    setTimeout(() => end(child.pid!, "SIGKILL"), TIMEOUT_MS + GRACE_MS),
  ];
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  for (const timer of timers) clearTimeout(timer);
  running.delete(child.pid!);
  if (!isSeen) process.stdout.write(`\n${name}\n${Buffer.concat(printed).toString()}`);
  const report = await readReport(result);
  const outcome = { job, report, ended: code ?? signal };
  if (isFailed(outcome)) {
    console.log(`✖ ${name} failed`);
    failed.push(outcome);
  } else count(outcome);
  const own = Object.entries(report?.durations ?? {});
  for (const [file, ms] of own) latest.set(path.relative(root, file), ms);
  // The duration of a job with one file includes its start and end.
  if (files.length === 1) latest.set(files[0]!, performance.now() - begunMs);
}

/** @param before words of the command before those of the check */
async function check(before: readonly string[] = []): Promise<void> {
  const [program, ...args] = [...before, ...CHECK];
  const child = spawn(program!, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const closed = once(child, "close") as Promise<[number | null]>;
  running.add(child.pid!);
  const printed = await Promise.all([child.stdout, child.stderr].map((stream) => readAll(stream)));
  const [code] = await closed;
  running.delete(child.pid!);
  console.log(`\nnpm run check\n${printed.join("")}`);
  if (code === 0) return;
  counts.failed += 1;
  console.log("✖ npm run check failed");
}

function isFailed({ report, ended }: Outcome): boolean {
  return report === null || ended !== 0 || report.failed > 0;
}

function count({ job, report, ended }: Outcome): void {
  counts.passed += report?.passed ?? 0;
  counts.skipped += report?.skipped ?? 0;
  counts.failed += report?.failed ?? 0;
  if (report !== null && (ended === 0 || report.failed > 0)) return;
  counts.failed += 1;
  console.log(`✖ ${job.name} ended with ${ended}${report === null ? " before it wrote its report" : ""}`);
}

function argumentsOf(files: readonly string[], result: string): string[] {
  const reporters = [
    ["spec", "stdout"],
    [path.join(import.meta.dirname, "test-report.ts"), result],
  ];
  return [
    "--disable-warning=ExperimentalWarning",
    `--import=${path.join(import.meta.dirname, "without-fetch.mjs")}`,
    ...(files.length > 1 ? ["--test", "--test-isolation=none"] : []),
    `--test-timeout=${TIMEOUT_MS}`,
    ...reporters.flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]),
    ...flags,
  ];
}

async function readReport(file: string): Promise<Report | null> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text === "" ? null : (JSON.parse(text) as Report);
}

/** Returns the folder in memory, or null if it is too small or guests could not execute their programs from there. */
function memoryFolder(): string | null {
  const mount = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .find(([, place]) => place === MEMORY);
  if (mount?.[2] !== "tmpfs" || mount[3]!.split(",").includes("noexec")) return null;
  const { bavail, bsize } = statfsSync(MEMORY);
  return Math.min(bavail * bsize, process.availableMemory()) > MEMORY_BYTES ? MEMORY : null;
}

/** Ends a process with its group. */
function end(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has already ended.
  }
}

/** Whether a word of the command line names a file, and not an option. */
function isName(word: string): boolean {
  return !word.startsWith("--");
}

function readDurations(): Map<string, number> {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(durationsFile, "utf8")) as Record<string, number>));
  } catch {
    return new Map();
  }
}

/** Whether a file replaces a clock or a variable or has a hook, which would affect all tests of the process. */
function sharesNothing(file: string): boolean {
  return !/\bmock\b|process\.env\[[^\]]+\] =|\.\.\/redis\/server|^(?:before|after)(?:Each)?\(/m.test(
    readFileSync(path.join(root, file), "utf8"),
  );
}

function filesOf(patterns: readonly string[]): string[] {
  return globSync(patterns, { cwd: root }).map((file) => path.relative(root, path.resolve(root, file)));
}
