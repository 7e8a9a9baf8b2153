/**
 * Writes lines to the service's log for a test that reads stderr. The arguments are the level and the kind of lines.
 */
import { Problem } from "../../src/errors.ts";
import { openLog } from "../../src/telemetry/log.ts";

const [level, what] = process.argv.slice(2) as ["debug" | "info" | "error", string];
const log = openLog(level);
const cause = new Error("exit code 139");
switch (what) {
  case "failures":
    log.run("r-1", "demo", "jti-1", "192.0.2.7", new Problem("task_threw", "of the task"));
    log.run("r-2", "demo", "jti-1", "192.0.2.7", new Problem("sandbox_failed", "of the service", { cause }));
    log.run("r-3", "demo", "jti-1", "192.0.2.7", new TypeError("a defect"));
    break;
  case "refusals": {
    const limited = new Problem("token_limited", "of the limits");
    for (let at = 0; at < 12; at++) log.refusedRun("family-1", `r-${at}`, "demo", "jti-1", "192.0.2.7", limited);
    log.refusedRun("family-2", "r-12", "demo", "jti-2", "192.0.2.7", limited);
    log.refusedRun("family-1", "r-13", "demo", "jti-1", "192.0.2.7", new Problem("sandbox_failed", "of the service"));
    break;
  }
  case "overloads": {
    const overloaded = new Problem("overloaded", "of the bodies");
    for (let at = 0; at < 12; at++) log.refusedRun("family-1", `r-${at}`, "demo", "jti-1", "192.0.2.7", overloaded);
    log.refusedRun("family-1", "r-12", "demo", "jti-1", "192.0.2.7", new Problem("token_limited", "of the limits"));
    break;
  }
  case "connections":
    for (let at = 0; at < 1_000; at++) log.refusedConnection(`192.0.2.${at % 20}`, 64);
    break;
  case "task":
    log.task("r-1", "demo", 3, () => 'two\nlines "and quotes"');
    log.task("r-1", "demo", 255, () => "a level that a guest made up");
    break;
  case "refused":
    log.refused("r-1", "demo", "jti-1", { host: '10.0.0.1"\n', port: 80, reason: "address", unreported: 3 });
    break;
  case "audit":
    log.audit("limits reset", { container: "demo", by: "jti-1" });
    break;
}
