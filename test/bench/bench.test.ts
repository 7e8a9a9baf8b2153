import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it } from "node:test";

import { type Options, parseOptions } from "../../bench/options.ts";
import type { Results } from "../../bench/results/results.ts";
import type { Row } from "../../bench/row.ts";
import { NO_WALL } from "../contract/service.ts";

const ROOT = path.join(import.meta.dirname, "../..");

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe("npm run bench", () => {
  it("writes the figures, the machine and the commit of a quick run", async () => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-bench-test-"));
    const out = path.join(folder.path, "results.json");
    const words = ["--quick", "--only", "start", "--rounds", "2", "--out", out, ...NO_WALL];
    const { code, stdout, stderr } = await bench(words);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /2\/2 start: time [\d.,]+ ms/);
    assert.match(stdout, /^\| start from/m);
    const results = JSON.parse(await readFile(out, "utf8")) as Results;
    assert.equal(results.isFull, false);
    assert.equal(results.isolation, "none");
    assert.ok(Date.parse(results.date) <= Date.now());
    const { processor, cores, memoryMiB, kernel, node } = results.machine;
    assert.ok(processor !== "" && cores >= 1 && memoryMiB > 0 && kernel.startsWith("Linux "));
    assert.equal(node, process.versions.node);
    const [row] = results.rows;
    assert.deepEqual([results.rows.length, row!.id, row!.rounds.length, row!.failure], [1, "start", 2, undefined]);
    const [figure] = row!.figures;
    assert.ok(figure!.value! > 0);
    assert.deepEqual([figure!.unit, typeof figure!.aim, typeof figure!.budget], ["ms", "number", "number"]);
  });

  it("names the existing rows if another row is requested", async () => {
    const { code, stderr } = await bench(["--only", "warm-body,waarm"]);
    assert.equal(code, 2);
    assert.match(stderr, /^bench: no row is named waarm; the rows are warm-body, .*peer-process, peer-relay$/m);
  });

  it("leaves out a row that this machine cannot measure, unless it is requested by name", () => {
    for (const [words, expected] of [
      [[], ["a"]],
      [["--only", "b"], ["b"]],
    ] as const) {
      const { rows } = parseOptions(words, [sampleRow("a", true), sampleRow("b", false)]) as Options;
      assert.deepEqual(
        rows.map(({ id }) => id),
        expected,
      );
    }
  });

  it("names the package of wrk if a row needs it and it is missing", async () => {
    const { code, stderr } = await bench(["--only", "warm-body"], { PATH: "/nonexistent" });
    assert.equal(code, 2);
    assert.match(stderr, /wrk is missing: .*apt-get install -y wrk/);
  });

  it("reports a row that cannot be measured with the reason, and fails", async () => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-bench-test-"));
    const out = path.join(folder.path, "results.json");
    const { code, stdout } = await bench(["--only", "start", "--out", out, "--isolation", "thick"]);
    assert.equal(code, 1);
    const [row] = (JSON.parse(await readFile(out, "utf8")) as Results).rows;
    assert.deepEqual(row!.rounds, []);
    assert.match(row!.failure!, /^the server ended before it served: .*thick/s);
    assert.match(stdout, /^note: start: not measured: the server ended/m);
  });
});

function sampleRow(id: string, isPossible: boolean): Row {
  return { id, title: id, figures: [], needsWrk: false, isPossible: () => isPossible, measure: () => assert.fail() };
}

/** Runs the benchmark as `npm run bench` does after its setup. */
function bench(words: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const command = ["--disable-warning=ExperimentalWarning", "bench/main.ts", ...words];
  return new Promise((resolve) => {
    const options = { cwd: ROOT, env: { ...process.env, ...environment } };
    execFile(process.execPath, command, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code);
      resolve({ code, stdout, stderr });
    });
  });
}
