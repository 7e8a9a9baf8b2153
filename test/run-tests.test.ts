import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";

const ROOT = path.dirname(import.meta.dirname);
const HEAD = `import { after, before, describe, it } from "node:test";
import { createServer } from "node:net";
`;

let folder: string;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "caisson-runner-"));
});
after(() => rm(folder, { recursive: true }));

interface Ran {
  readonly code: number | null;
  readonly output: string;
  /** What is printed last. */
  readonly counts: string;
}

/** Runs test files of these texts. */
async function run(settings: Readonly<Record<string, string>>, ...texts: string[]): Promise<Ran> {
  const files = texts.map((_, at) => path.join(folder, `file-${at}.test.ts`));
  for (const [at, file] of files.entries()) await writeFile(file, HEAD + texts[at]!);
  const child = spawn("scripts/test", files, {
    cwd: ROOT,
    env: { ...process.env, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(child, "close") as Promise<[number | null]>;
  const printed = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await closed;
  return { code, output: printed.join(""), counts: printed[0].trimEnd().split("\n").at(-1)! };
}

describe("the runner of the tests", () => {
  it("gives the counts of all files as its last line, and exit code 0 only where nothing failed", async () => {
    const passes = 'it("a", () => {}); it("b", { skip: true }, () => {});';
    const fine = await run({}, passes, passes);
    assert.deepEqual([fine.code, fine.counts], [0, "2 passed, 0 failed, 2 skipped"], fine.output);
    const failing = await run({}, passes, 'describe("s", () => { it("c", () => { throw new Error("told") }) });');
    assert.deepEqual([failing.code, failing.counts], [1, "1 passed, 1 failed, 1 skipped"], failing.output);
    assert.match(failing.output, /told/);
  });

  it("prints the processor time of each job, with that of the processes that it started, and how busy the machine was", async () => {
    const works = `
      import { spawnSync } from "node:child_process";
      const work = "while (process.cpuUsage().user < 1e6);";
      it("a", () => { spawnSync(process.execPath, ["-e", work]); });`;
    const { output } = await run({}, works);
    const printed = /^ +([0-9.]+) {2}\S*file-0/m.exec(output.slice(output.indexOf("most processor time")));
    assert.ok(Number(printed?.[1]) > 1, output);
    assert.match(output, /^ +[0-9.]+ {2}files side by side: the processors were idle for [0-9]+ %$/m);
    assert.ok(Number(/([0-9]+) s of processor time$/m.exec(output)?.[1]) >= Math.floor(Number(printed![1])), output);
  });

  it("counts a file as failed that ends before it has reported", async () => {
    const { code, counts } = await run({}, 'it("a", () => process.exit(0));');
    assert.deepEqual([code, counts], [1, "0 passed, 1 failed, 0 skipped"]);
  });

  it("ends a file whose hook failed with something open, names what is open, and counts it as failed", async () => {
    const broken = `
      let other;
      before(() => { createServer().listen(0); throw new Error("no clock"); });
      after(() => other.stop());
      process.on("exit", () => console.log("what it started is ended"));
      describe("s", () => it("a", () => {}));`;
    const { code, counts, output } = await run({ TEST_IDLE_MS: "1000" }, broken, 'it("b", () => {});');
    assert.deepEqual([code, counts], [1, "1 passed, 1 failed, 0 skipped"], output);
    assert.match(output, /no clock/);
    assert.match(output, /does not end: its tests have been over for 1000 ms\. Open: .*TCPServerWrap/);
    assert.match(output, /what it started is ended/);
  });

  it("kills a file that takes longer than it may, even one that never lets go of its thread", async () => {
    const endless = 'it("a", () => { for (;;); });';
    const { code, counts, output } = await run({ TEST_TIMEOUT_MS: "3000", TEST_GRACE_MS: "300" }, endless);
    assert.deepEqual([code, counts], [1, "0 passed, 1 failed, 0 skipped"], output);
    assert.match(output, /ended with SIGKILL before it wrote its report/);
  });

  it("repeats the few jobs that failed, counts what they end with then, and names those that passed", async () => {
    const second = path.join(folder, "second");
    const unlucky = `
      import { existsSync, writeFileSync } from "node:fs";
      it("a", () => {
        if (existsSync(${JSON.stringify(second)})) return;
        writeFileSync(${JSON.stringify(second)}, "");
        throw new Error("a short night");
      });`;
    const wrong = 'it("b", () => { throw new Error("wrong") });';
    const { code, counts, output } = await run({ TEST_REPEATED: "2" }, unlucky, wrong, 'it("c", () => {});');
    assert.deepEqual([code, counts], [1, "2 passed, 1 failed, 0 skipped"], output);
    assert.match(output, /a short night/);
    assert.match(output, /^failed at first, and passed when it ran again and alone: \S*file-0\.test\.ts$/m);
    assert.doesNotMatch(output, /^failed at first.*file-[12]/m);
  });

  it("repeats nothing if more jobs failed", async () => {
    const { code, counts, output } = await run(
      { TEST_REPEATED: "1" },
      ...Array<string>(2).fill('it("a", () => { throw 1 });'),
    );
    assert.deepEqual([code, counts], [1, "0 passed, 2 failed, 0 skipped"], output);
    assert.doesNotMatch(output, /again/);
  });
});
