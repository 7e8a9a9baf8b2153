/**
 * Writes lines to the service's log for a test that reads stderr. The arguments are the level and the kind of lines.
 */
import { Problem } from "../../src/errors.ts";
import { openLog } from "../../src/telemetry/log.ts";

const [level, what] = process.argv.slice(2) as ["debug" | "info" | "error", string];
const log = openLog(level);
const cause = new Error("exit code 139");
const names = { run: "r-1", container: "demo", jti: "jti-1" };
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const traced = { ...names, task: "hook", traceparent };
switch (what) {
  case "failures":
    log.run("family-1", names, "192.0.2.7", new Problem("task_threw", "of the task"));
    log.run(
      "family-1",
      { ...names, run: "r-2" },
      "192.0.2.7",
      new Problem("sandbox_failed", "of the service", { cause }),
    );
    log.run("family-1", { ...names, run: "r-3" }, "192.0.2.7", new TypeError("a defect"));
    break;
  case "many-failures":
    for (let at = 0; at < 1_001; at++)
      log.run("family-1", { ...names, run: `r-${at}` }, "192.0.2.7", new Problem("task_threw", "x".repeat(9_000)));
    log.run("family-2", { ...names, run: "r-1001" }, "192.0.2.7", new Problem("task_threw", "\u009b2J\u2028"));
    log.run("family-1", { ...names, run: "r-1002" }, "192.0.2.7", new Problem("sandbox_failed", "of the service"));
    log.lateError("family-1", { ...names, run: "r-1003" }, new Problem("task_threw", "late"), false);
    break;
  case "faults":
    for (const code of ["container_restarted", "packages_building"] as const)
      log.run("family-1", { ...names, run: code }, "192.0.2.7", new Problem(code, "of another run"));
    for (let at = 0; at < 1_001; at++)
      log.run("family-1", { ...names, run: `r-${at}` }, "192.0.2.7", new Problem("sandbox_failed", "of the service"));
    log.run("family-2", { ...names, run: "last" }, "192.0.2.7", new Problem("sandbox_failed", "of the service"));
    break;
  case "refusals": {
    const limited = new Problem("token_limited", "of the limits");
    for (let at = 0; at < 12; at++)
      log.refusedRun("family-1", { run: `r-${at}`, container: "demo", jti: "jti-1" }, "192.0.2.7", limited);
    log.refusedRun("family-2", { run: "r-12", container: "demo", jti: "jti-2" }, "192.0.2.7", limited);
    log.refusedRun(
      "family-1",
      { run: "r-13", container: "demo", jti: "jti-1" },
      "192.0.2.7",
      new Problem("sandbox_failed", "of the service"),
    );
    break;
  }
  case "overloads": {
    const overloaded = new Problem("overloaded", "of the bodies");
    for (let at = 0; at < 12; at++)
      log.refusedRun("family-1", { run: `r-${at}`, container: "demo", jti: "jti-1" }, "192.0.2.7", overloaded);
    log.refusedRun(
      "family-1",
      { run: "r-12", container: "demo", jti: "jti-1" },
      "192.0.2.7",
      new Problem("token_limited", "of the limits"),
    );
    break;
  }
  case "traced":
    log.run("family-1", traced, "192.0.2.7", new Problem("task_threw", "of the task"));
    log.refusedRun("family-1", traced, "192.0.2.7", new Problem("token_limited", "of the limits"));
    log.task(traced, 1, () => "a line");
    log.lateError("family-1", traced, new Problem("task_threw", "late"), false);
    log.refused(traced, { host: "10.0.0.1", port: 80, reason: "address", unreported: 0 });
    break;
  case "connections":
    for (let at = 0; at < 1_000; at++) log.refusedConnection(`192.0.2.${at % 20}`, "has 64 open, which is its share");
    break;
  case "task":
    log.task({ ...names, task: "hook" }, 3, () => 'two\nlines "and quotes"');
    log.task(names, 255, () => "a level that a guest made up");
    break;
  case "refused":
    log.refused(names, { host: '10.0.0.1"\n', port: 80, reason: "address", unreported: 3 });
    break;
  case "flood":
    for (let at = 0; at < 3_000; at++) log.audit("x".repeat(10_000), {});
    break;
  case "audit":
    log.audit("limits reset", { container: "demo", by: "jti-1" });
    break;
}
