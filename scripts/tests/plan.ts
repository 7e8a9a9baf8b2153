/** The plan of a run of tests: which files run in one process, in parallel or alone, and which a short run leaves out. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

import { drawn } from "../../test/seeded.ts";

const ROOT = path.join(import.meta.dirname, "../..");

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
 * Files of which most take less processor time than the start of a process for them. One process runs the files of a folder, one after
 * the other, unless a file changes its process.
 */
const SMALL = [
  "test/{bundler,containers,egress,guest,nodes,packages,records}/**/*.test.ts",
  "test/cli/{help,help-words,hostile-server,pairs,secret-flags,settings,token-members}.test.ts",
];
/** The maximum number of files in one process that are small or share a service: together they must end within the time of a job. */
const SHARERS = 10;

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
const LONG_FILE_MS = 600_000;
/** Long files about special cases of what other files test. A run of all files takes a third of them, and a long run all. */
const SAMPLED = [
  "test/backup/places.test.ts",
  "test/cli/{doctor,keys,lost-keys,package}.test.ts",
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

export interface Job {
  readonly name: string;
  readonly files: readonly string[];
  /** Whether the job gives way to all other processes. */
  readonly givesWay?: boolean;
}

export interface Plan {
  readonly concurrent: readonly Job[];
  /** The attacks, if they run with all other files. */
  readonly attacks: Job | null;
  /** The jobs that run alone. */
  readonly alone: readonly Job[];
  /** The files that only compute, as one job or none. */
  readonly pure: readonly Job[];
}

/** Returns the jobs of a run. @param named the files to run; if empty, all files */
export function plan(named: readonly string[]): Plan {
  const chosen = named.length > 0 ? filesOf(named) : withoutSampled(filesOf(["test/**/*.test.ts"]));
  const lone = new Set(filesOf(ALONE));
  const quiet = new Set(filesOf(IN_ONE_PROCESS).filter((file) => !lone.has(file) && sharesNothing(file)));
  const together = chosen.filter((file) => quiet.has(file));
  const others = chosen.filter((file) => !quiet.has(file)).map((file) => ({ name: file, files: [file] }));
  const pure = together.length > 0 ? [{ name: `${together.length} files in one process`, files: together }] : [];
  const alone = others.filter(({ name }) => lone.has(name));
  const concurrent = inGroups(others.filter(({ name }) => !lone.has(name)));
  const attacks = concurrent.length > 0 ? (alone.find(({ name }) => name === ATTACKS) ?? null) : null;
  return { concurrent, attacks, alone: alone.filter((job) => job !== attacks), pure };
}

/** Replaces the jobs of files in one folder that are small or share a service by jobs of several files. */
function inGroups(jobs: readonly Job[]): Job[] {
  const small = new Set(filesOf(SMALL));
  const groupOf = ({ name }: Job): string | null => {
    const text = readFileSync(path.join(ROOT, name), "utf8");
    if (/\bshareService\(/.test(text)) return path.dirname(name);
    return small.has(name) && sharesNothing(name) && !CHANGES_PROCESS.test(text) ? name.split("/", 2).join("/") : null;
  };
  const groups = Map.groupBy(jobs, groupOf);
  const single = groups.get(null) ?? [];
  groups.delete(null);
  const several = [...groups].flatMap(([folderName, ofFolder]) => {
    const parts = Math.ceil(ofFolder.length / SHARERS);
    return Array.from({ length: parts }, (_, at) => {
      const files = ofFolder.filter((__, index) => index % parts === at).flatMap((job) => job.files);
      return { name: files.length === 1 ? files[0]! : `${files.length} files of ${folderName}, part ${at + 1}`, files };
    });
  });
  return [...single, ...several];
}

/** Leaves out most of the sampled files, other ones in each run. */
function withoutSampled(files: readonly string[]): string[] {
  const sampled = filesOf(SAMPLED);
  const kept = new Set(drawn("long files", sampled, Math.ceil(sampled.length * SAMPLED_PART)));
  return files.filter((file) => kept.has(file) || !sampled.includes(file));
}

/** Sorts jobs so that no long job is left at the end. @param durations the milliseconds of files in the last run */
export function longestFirst(jobs: readonly Job[], durations: ReadonlyMap<string, number>): Job[] {
  const expectedMs = ({ files }: Job): number => sum(files.map((file) => durations.get(file) ?? estimateMs(file)));
  return jobs.toSorted((a, b) => expectedMs(b) - expectedMs(a));
}

export function describePlan({ concurrent, pure, attacks, alone }: Plan): string {
  const [many, few] = [[...concurrent, ...pure], [attacks, ...alone].filter((job) => job !== null)].map(
    (jobs) => jobs.flatMap(({ files }) => files).length,
  );
  return `${many} files side by side, ${few} alone`;
}

/** The milliseconds that a file without a known duration may take. Larger files take longer, and those that start services take far longer. */
function estimateMs(file: string): number {
  const place = LONGEST.indexOf(file);
  if (place !== -1) return (LONGEST.length - place) * LONG_FILE_MS;
  const text = readFileSync(path.join(ROOT, file), "utf8");
  return text.length * (/\b(?:startService|shareService|openSandbox|execFile)\(/.test(text) ? 10 : 1);
}

/** What a file has that changes its process for later tests, or measures what earlier tests have left in it. */
const CHANGES_PROCESS = /\bprocess\.(?:on|once|chdir|umask|memoryUsage|title)\b|\bsetFlagsFromString\b|\bgc\(/;

/** Whether a file replaces a clock or a variable or has a hook, which would affect all tests of the process. */
function sharesNothing(file: string): boolean {
  return !/\bmock\b|process\.env\[[^\]]+\] =|\.\.\/redis\/server|^(?:before|after)(?:Each)?\(/m.test(
    readFileSync(path.join(ROOT, file), "utf8"),
  );
}

function filesOf(patterns: readonly string[]): string[] {
  return globSync(patterns, { cwd: ROOT }).map((file) => path.relative(ROOT, path.resolve(ROOT, file)));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
