import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { it } from "node:test";

const LOG_LINES = path.join(import.meta.dirname, "log-lines.ts");

/** The lines that a process logs, in order. */
function lines(level: string, what: string): Record<string, unknown>[] {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", LOG_LINES, level, what],
    {
      encoding: "utf8",
      maxBuffer: 16 * 2 ** 20,
    },
  );
  assert.equal(`${status} ${stdout}`, "0 ", stderr);
  return stderr
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function runsOf(what: string, level: string): unknown[] {
  return lines(level, what).map(({ run }) => run);
}

it("a failed run is logged with its ids and code, and as an error only if the service is at fault", () => {
  const [task, service, defect] = lines("info", "failures");
  const names = { container: "demo", jti: "jti-1", client: "192.0.2.7" };
  const { time, level, ...fields } = task!;
  assert.deepEqual(fields, { ...names, run: "r-1", code: "task_threw", status: 500, msg: "of the task" });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT.*Z$/);
  assert.equal(service!["cause"], "exit code 139");
  assert.equal(service!["code"], "sandbox_failed");
  assert.deepEqual([level, service!["level"]], ["info", "error"]);
  assert.equal(defect!["run"], "r-3");
  assert.equal((defect!["err"] as { message: string }).message, "a defect");
  assert.equal(defect!["level"], service!["level"]);
});

it("faults that runs cause are no errors, and faults of the service are a limited number of errors for each family", () => {
  const written = lines("info", "faults").map(({ run, level }) => [run, level]);
  assert.deepEqual(written.slice(0, 2), [
    ["container_restarted", "info"],
    ["packages_building", "info"],
  ]);
  assert.equal(written.length, 2 + 1_000 + 1);
  assert.deepEqual(written.slice(-2), [
    ["r-999", "error"],
    ["last", "error"],
  ]);
});

it("every line about a run names its task and its trace, if the run has them", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const written = lines("debug", "traced");
  assert.equal(written.length, 5);
  for (const line of written) {
    assert.deepEqual(
      [line["run"], line["container"], line["task"], line["traceparent"]],
      ["r-1", "demo", "hook", traceparent],
    );
  }
});

it("at the level error, only failures of the service are logged, and not failures of tasks", () => {
  assert.deepEqual(
    lines("error", "failures").map(({ run }) => run),
    ["r-2", "r-3"],
  );
});

it("failed runs of a family have 1,000 lines a minute at info and short texts, and faults of the service all lines", () => {
  const written = lines("info", "many-failures");
  const first = Array.from({ length: 1_000 }, (_, at) => `r-${at}`);
  assert.deepEqual(
    written.map(({ run }) => run),
    [...first, "r-1001", "r-1002"],
  );
  assert.equal(String(written[0]!["msg"]).length, 1_027);
  assert.equal(runsOf("many-failures", "debug").length, 1_004);
});

it("characters that control a terminal are escaped", () => {
  const { stderr } = spawnSync(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", LOG_LINES, "info", "many-failures"],
    { encoding: "utf8", maxBuffer: 16 * 2 ** 20 },
  );
  assert.ok(stderr.includes(String.raw`"msg":"\u009b2J\u2028"`));
});

it("refused runs of a family have ten lines a minute at info, the others at debug, and faults of the service all lines", () => {
  const first = Array.from({ length: 10 }, (_, at) => `r-${at}`);
  assert.deepEqual(runsOf("refusals", "info"), [...first, "r-12", "r-13"]);
  assert.deepEqual(
    runsOf("refusals", "debug"),
    Array.from({ length: 14 }, (_, at) => `r-${at}`),
  );
});

it("runs that are refused because a caller sends too much take ten lines a minute at error, apart from other refusals", () => {
  const first = Array.from({ length: 10 }, (_, at) => `r-${at}`);
  assert.deepEqual(runsOf("overloads", "error"), first);
  assert.deepEqual(runsOf("overloads", "info"), [...first, "r-12"]);
});

it("each line of a task is one log line at debug, whatever level the task used", () => {
  assert.deepEqual(lines("info", "task"), []);
  const [written, odd] = lines("debug", "task");
  assert.equal(written!["msg"], 'two\nlines "and quotes"');
  assert.deepEqual([written!["run"], written!["container"]], ["r-1", "demo"]);
  assert.equal(odd!["msg"], "a level that a guest made up");
  // The level is the service's own, because a task must not trigger alarms that depend on it.
  assert.equal(written!["level"], "debug");
});

it("a refused destination is logged with its run, on one line at info", () => {
  const [{ time: _, level, ...fields }, ...others] = lines("info", "refused") as [Record<string, unknown>];
  const names = { run: "r-1", container: "demo", jti: "jti-1" };
  const refusal = { host: '10.0.0.1"\n', port: 80, reason: "address", unreported: 3 };
  assert.deepEqual(fields, { ...names, ...refusal, msg: "egress refused" });
  assert.equal(level, lines("info", "audit")[0]!["level"]);
  assert.deepEqual(others, []);
  assert.deepEqual(lines("error", "refused"), []);
});

it("an action of an administrator is logged with its object", () => {
  const [line] = lines("info", "audit");
  assert.deepEqual([line!["msg"], line!["container"], line!["by"]], ["limits reset", "demo", "jti-1"]);
});

it("refused connections have one line a minute for each network, ten for all networks, and name the fix", () => {
  const logged = lines("info", "connections");
  assert.deepEqual(
    logged.map(({ client }) => client),
    Array.from({ length: 10 }, (_, at) => `192.0.2.${at}`),
  );
  assert.match(String(logged[0]!["msg"]), /has 64 open, which is its share; .*--trust-proxy$/);
});
