/**
 * Runs all tests, in three passes: files without a process of their own in one process, most others side by side, and
 * those alone that another file beside them would disturb. Prints the slowest files, and as its last line the counts.
 */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";

/** They start nothing and share nothing: no process, no port, no folder, no clock. */
const IN_ONE_PROCESS = [
  "test/*.test.ts",
  "test/{config,http,policies,redaction,source,telemetry,tasks,tokens,wire}/**/*.test.ts",
  "test/limits/*.test.ts",
];
/** They compare times, fill the machine, or look at what the whole machine has. */
const ALONE = [
  "test/contract/{abuse,crash-loop,durability,faults,full-disk,kill,launcher,limits-hit,nothing-left,redis,redis-promise,shares,streams,worst-cases}.test.ts",
  "test/hostile/*.test.ts",
  "test/containers/{burners,pool,suspects,watchdog,scales}.test.ts",
  "test/deploy/scale.test.ts",
  "test/sandbox/{cgroup/cgroup,confined,temp/stale-folders,orphans,self-test/self-test,reduced-confinement,layers}.test.ts",
];
const PASSES = [
  { name: "in one process", isolation: "none", atOnce: 1 },
  { name: "side by side", isolation: "process", atOnce: 3 },
  { name: "alone", isolation: "process", atOnce: 1 },
] as const;
type PassName = (typeof PASSES)[number]["name"];

const SLOWEST = 10;
const MINUTE_MS = 60_000;
/** A test that takes more chances takes longer for it. */
const TEST_TIMEOUT_MS = process.env["LONG"] === "1" ? 60 * MINUTE_MS : 5 * MINUTE_MS;

const startedMs = performance.now();
const root = path.dirname(import.meta.dirname);
const passOf = new Map<string, PassName>();
for (const file of filesOf(["test/**/*.test.ts"])) passOf.set(file, "side by side");
for (const file of filesOf(IN_ONE_PROCESS)) if (sharesNothing(file)) passOf.set(file, "in one process");
for (const file of filesOf(ALONE)) passOf.set(file, "alone");

const durations = new Map<string, number>();
const counts = { passed: 0, failed: 0, skipped: 0 };
for (const pass of PASSES) await runPass(pass);

console.log(`\nthe ${SLOWEST} slowest files, in seconds:`);
for (const [file, ms] of [...durations].toSorted((a, b) => b[1] - a[1]).slice(0, SLOWEST)) {
  console.log(`${(ms / 1_000).toFixed(1).padStart(7)}  ${file}`);
}
console.log(`in all ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;

async function runPass({ name, isolation, atOnce }: (typeof PASSES)[number]): Promise<void> {
  const files = [...passOf].filter(([, pass]) => pass === name).map(([file]) => file);
  console.log(`\n${files.length} files ${name}`);
  const events = run({
    files,
    isolation,
    concurrency: atOnce,
    execArgv: [`--test-timeout=${TEST_TIMEOUT_MS}`],
    timeout: Infinity,
  });
  events.on("test:summary", ({ file, counts: all, duration_ms: ms }) => {
    if (file !== undefined) durations.set(path.relative(root, file), ms);
    // The summary of all files together has no file.
    if (file !== undefined) return;
    counts.passed += all.passed;
    counts.failed += all.tests - all.passed - all.skipped - all.todo;
    counts.skipped += all.skipped + all.todo;
  });
  // In one process there is no summary for each file.
  if (isolation === "none") events.on("test:pass", addDuration).on("test:fail", addDuration);
  events.compose(new spec()).pipe(process.stdout, { end: false });
  await new Promise((resolve) => events.once("end", resolve));
}

function addDuration({
  file,
  nesting,
  details,
}: {
  file?: string;
  nesting: number;
  details: { duration_ms: number };
}): void {
  if (file === undefined || nesting > 0) return;
  const name = path.relative(root, file);
  durations.set(name, (durations.get(name) ?? 0) + details.duration_ms);
}

/** A clock or a variable that a test replaces, and a hook of a whole file, would be there for all tests of the process. */
function sharesNothing(file: string): boolean {
  return !/\bmock\b|process\.env\[[^\]]+\] =|\.\.\/redis\/server|^(?:before|after)(?:Each)?\(/m.test(
    readFileSync(file, "utf8"),
  );
}

function filesOf(patterns: readonly string[]): string[] {
  return globSync(patterns, { cwd: root }).map((file) => path.join(root, file));
}
