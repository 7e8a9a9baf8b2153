/**
 * Runs the named tests, or all tests, in two passes: most files in parallel, and then each file alone that other files
 * would disturb. A run of all files repeats the few that failed, alone. Prints the slowest files, the jobs that used most
 * processor time, and the counts in the last line. With `--check`, `npm run check` runs too, and counts as one failed test if it fails. What only computes runs next to
 * the attacks, which use one processor.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { openApiDocument } from "../src/http/openapi/document.ts";
import { endJobs, isFailed, type Outcome, runCheck, runJob } from "./tests/job.ts";
import { memoryFolder } from "./tests/memory-folder.ts";
import { runInParallel } from "./tests/parallel.ts";
import { describePlan, type Job, longestFirst, plan } from "./tests/plan.ts";
import { machineTimes, usedProcessorMs } from "./tests/processor-time.ts";

const IS_LONG = process.env["LONG"] === "1";
const SLOWEST = 10;
const startedMs = performance.now();
const root = path.dirname(import.meta.dirname);
const cache = path.join(root, "node_modules/.cache/caisson-tests");
const durationsFile = path.join(cache, "durations.json");
const words = process.argv.slice(2);
const flags = words.filter((word) => word.startsWith("--") && word !== "--check");
const named = words.filter((word) => !word.startsWith("--"));
/**
 * The maximum number of failed jobs that are repeated, alone, after all other jobs. Tests race with real processes, and a
 * shared machine may stop for seconds: the same failure seldom happens twice. A defect of caisson does, and many failures at once
 * are no accident. Named files and long runs are not repeated, because they look for failures that are rare.
 */
const MOST_REPEATED = Number(process.env["TEST_REPEATED"] ?? (IS_LONG || named.length > 0 ? 0 : 6));

await using folder = await mkdtempDisposable(path.join((!IS_LONG && memoryFolder()) || tmpdir(), "tests-"));
// A folder like `/tmp`: some tests start a service as another user.
chmodSync(folder.path, 0o1777);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    endJobs();
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
const options = {
  folder: folder.path,
  flags,
  // A compile cache, so that not every process strips and compiles the same files.
  env: { NODE_COMPILE_CACHE: cache, TEST_OPENAPI: openApiFile },
};
const durations = readDurations();
const latest = new Map<string, number>();
/** The processor time of each job, in milliseconds. */
const used = new Map<string, number>();
const counts = { passed: 0, failed: 0, skipped: 0 };
const failed: Outcome[] = [];
/** A line about each part of the run. */
const passes: string[] = [];
const planned = plan(named);
console.log(`${named.length > 0 ? "" : "all: "}${describePlan(planned)}`);
const isChecked = words.includes("--check");
const { attacks } = planned;
if (attacks) {
  await pass("files side by side", () =>
    runInParallel(longestFirst(planned.concurrent, durations), (job) => run(job, false)),
  );
  await pass("the attacks, next to what only computes", () => {
    const givingWay = planned.pure.map((job) => run({ ...job, givesWay: true }, false));
    return Promise.all([run(attacks, true), ...givingWay, isChecked && check(true)]);
  });
} else {
  const jobs = [...planned.concurrent, ...planned.pure];
  const isOnly = jobs.length === 1;
  await pass("files side by side", () =>
    Promise.all([isChecked && check(false), runInParallel(longestFirst(jobs, durations), (job) => run(job, isOnly))]),
  );
}
await pass("files alone", async () => {
  for (const job of planned.alone) await run(job, true);
});
const repeated = failed.length <= MOST_REPEATED ? failed.splice(0) : [];
await pass("repeated jobs", async () => {
  for (const { job } of repeated) {
    console.log(`\nagain, and alone: ${job.name}`);
    await run(job, true);
  }
});
for (const outcome of failed) count(outcome);
// The durations are stored only if all files have run.
mkdirSync(cache, { recursive: true });
writeFileSync(durationsFile, JSON.stringify(Object.fromEntries([...durations, ...latest])));

printLargest(`the ${SLOWEST} slowest files, in seconds`, latest);
printLargest(`the ${SLOWEST} jobs that used most processor time, in seconds`, used);
for (const { job } of repeated.filter((first) => !failed.some((again) => again.job === first.job))) {
  console.log(`failed at first, and passed when it ran again and alone: ${job.name}`);
}
if (passes.length > 0) console.log(`\nthe parts of this run, in seconds:\n${passes.join("\n")}`);
const [allSeconds, usedSeconds] = [performance.now() - startedMs, usedProcessorMs()].map((ms) =>
  (ms / 1_000).toFixed(0),
);
console.log(`in all ${allSeconds} s, and ${usedSeconds} s of processor time`);
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;

async function run(job: Job, isSeen: boolean): Promise<void> {
  const outcome = await runJob(job, { ...options, isSeen });
  if (isFailed(outcome)) failed.push(outcome);
  else count(outcome);
  const { report, tookMs } = outcome;
  for (const [file, ms] of Object.entries(report?.durations ?? {})) latest.set(path.relative(root, file), ms);
  // The duration of a job with one file includes its start and end.
  if (job.files.length === 1) latest.set(job.files[0]!, tookMs);
  if (report) used.set(job.name, report.processorMs);
}

/** Prints how long a part of the run took, and how much of the processors it did not use. */
async function pass(name: string, work: () => Promise<unknown>): Promise<void> {
  const [beganMs, before] = [performance.now(), machineTimes()];
  await work();
  const after = machineTimes();
  const seconds = (performance.now() - beganMs) / 1_000;
  // A pass without jobs.
  if (seconds < 1) return;
  const idlePart = (after.idle - before.idle) / (after.all - before.all);
  passes.push(
    `${seconds.toFixed(1).padStart(7)}  ${name}: the processors were idle for ${(100 * idlePart).toFixed(0)} %`,
  );
}

function printLargest(what: string, times: ReadonlyMap<string, number>): void {
  console.log(`\n${what}:`);
  for (const [name, ms] of [...times].toSorted((a, b) => b[1] - a[1]).slice(0, SLOWEST)) {
    console.log(`${(ms / 1_000).toFixed(1).padStart(7)}  ${name}`);
  }
}

async function check(givesWay: boolean): Promise<void> {
  if (!(await runCheck(givesWay))) counts.failed += 1;
}

function count({ job, report, ended }: Outcome): void {
  counts.passed += report?.passed ?? 0;
  counts.skipped += report?.skipped ?? 0;
  counts.failed += report?.failed ?? 0;
  if (report !== null && (ended === 0 || report.failed > 0)) return;
  counts.failed += 1;
  console.log(`✖ ${job.name} ended with ${ended}${report === null ? " before it wrote its report" : ""}`);
}

function readDurations(): ReadonlyMap<string, number> {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(durationsFile, "utf8")) as Record<string, number>));
  } catch {
    return new Map();
  }
}
