/**
 * Writes lines to the service's log for a test that reads stderr. The arguments are the level and the kind of lines.
 */
import { Problem } from "../../src/errors.ts";
import { type LoggedRun, openLog } from "../../src/telemetry/log.ts";

const [level, what] = process.argv.slice(2) as ["debug" | "info" | "error", string];
const log = openLog(level);
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const runOf = (run: string): LoggedRun => ({ run, container: "demo", task: null, traceparent: null });
const traced: LoggedRun = { run: "r-1", container: "demo", task: { name: "hook" }, traceparent };
const cause = new Error("exit code 139");
switch (what) {
  case "failures":
    log.run(runOf("r-1"), "jti-1", "192.0.2.7", new Problem("task_threw", "of the task"));
    log.run(runOf("r-2"), "jti-1", "192.0.2.7", new Problem("sandbox_failed", "of the service", { cause }));
    log.run(runOf("r-3"), "jti-1", "192.0.2.7", new TypeError("a defect"));
    break;
  case "refusals": {
    const limited = new Problem("token_limited", "of the limits");
    for (let at = 0; at < 12; at++) log.refusedRun("family-1", runOf(`r-${at}`), "jti-1", "192.0.2.7", limited);
    log.refusedRun("family-2", runOf("r-12"), "jti-2", "192.0.2.7", limited);
    log.refusedRun("family-1", runOf("r-13"), "jti-1", "192.0.2.7", new Problem("sandbox_failed", "of the service"));
    break;
  }
  case "overloads": {
    const overloaded = new Problem("overloaded", "of the bodies");
    for (let at = 0; at < 12; at++) log.refusedRun("family-1", runOf(`r-${at}`), "jti-1", "192.0.2.7", overloaded);
    log.refusedRun("family-1", runOf("r-12"), "jti-1", "192.0.2.7", new Problem("token_limited", "of the limits"));
    break;
  }
  case "traced":
    log.run(traced, "jti-1", "192.0.2.7", new Problem("task_threw", "of the task"));
    log.refusedRun("family-1", traced, "jti-1", "192.0.2.7", new Problem("token_limited", "of the limits"));
    log.task(traced, 1, () => "a line");
    log.lateError(traced, "jti-1", new Problem("task_threw", "late"), false);
    log.refused(traced, "jti-1", { host: "10.0.0.1", port: 80, reason: "address", unreported: 0 });
    break;
  case "connections":
    for (let at = 0; at < 1_000; at++) log.refusedConnection(`192.0.2.${at % 20}`, 64);
    break;
  case "task":
    log.task(runOf("r-1"), 3, () => 'two\nlines "and quotes"');
    log.task(runOf("r-1"), 255, () => "a level that a guest made up");
    break;
  case "refused":
    log.refused(runOf("r-1"), "jti-1", { host: '10.0.0.1"\n', port: 80, reason: "address", unreported: 3 });
    break;
  case "audit":
    log.audit("limits reset", { container: "demo", by: "jti-1" });
    break;
}
