import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { command } from "../cli/command.ts";
import { assertProblem } from "./problem.ts";
import { type Scrape, scrape } from "./scrape.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const COLLECTOR = "collector-0123456789";
let folder: string;
let service: Service;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "caisson-metrics-"));
  const file = path.join(folder, "metrics.token");
  await writeFile(file, `${COLLECTOR}\n`);
  service = await startService([...NO_WALL, "--metrics-token", file, "--metrics-containers", "listed,other-listed"]);
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

/** What an action adds to each series. */
async function changed(action: () => Promise<unknown>): Promise<Pick<Scrape, "sum">> {
  const earlier = await scrape(service);
  await action();
  const later = await scrape(service);
  return { sum: (name, labels) => later.sum(name, labels) - earlier.sum(name, labels) };
}

describe("/metrics is read", () => {
  it("by an administrator, with the token in the header or in the query", async () => {
    await scrape(service);
    await scrape(service, { token: null, query: { key: service.admin } });
  });

  it("by the collector with the token of --metrics-token, which opens nothing else", async () => {
    await scrape(service, { token: COLLECTOR });
    for (const target of ["/api/audit", "/api/tokens", "/api/usage"]) {
      assertProblem(await service.request("GET", target, { token: COLLECTOR }), 403, "token_invalid");
    }
    assertProblem(await service.run("demo", "1", { token: COLLECTOR }), 403, "token_invalid");
  });

  it("by no other client, also from loopback", async () => {
    const get = (token: string | null): ReturnType<Service["request"]> => service.request("GET", "/metrics", { token });
    assertProblem(await get(null), 403, "token_missing");
    assertProblem(await get(`${COLLECTOR}0`), 403, "token_invalid");
    assertProblem(await get(COLLECTOR.slice(1)), 403, "token_invalid");
    const token = await service.issue({
      containers: ["*"],
      can: ["run", "limits", "logs", "tasks", "issue"],
      depth: 1,
    });
    assertProblem(await get(token), 403, "token_forbidden");
  });

  it("without parameters, and only with GET and HEAD", async () => {
    assertProblem(await service.request("GET", "/metrics?name=x"), 400, "request_invalid");
    assertProblem(await service.request("POST", "/metrics"), 405, "method_not_allowed");
    const { status, text } = await service.request("HEAD", "/metrics");
    assert.deepEqual([status, text], [200, ""]);
  });

  it("only if the file of --metrics-token has a token that cannot be guessed: otherwise the service does not start", async () => {
    const file = path.join(folder, "short.token");
    await writeFile(file, "too-short\n");
    const { code, stderr } = await command(["serve", "--data", path.join(folder, "data"), "--metrics-token", file]);
    assert.notEqual(code, 0);
    assert.match(stderr, /--metrics-token: .* must contain one line of 16 to 512/);
    assert.ok(!stderr.includes("too-short"));
  });
});

describe("/metrics counts", () => {
  it("each ended run once, by its outcome, with its duration and its start", async () => {
    const { sum } = await changed(async () => {
      for (let run = 0; run < 3; run++) assert.equal((await service.run("m-outcomes", "6 * 7")).status, 200);
      assert.equal((await service.run("m-outcomes", "throw new Error('no')")).status, 500);
      assert.equal((await service.run("m-outcomes", "(cb) => cb(new Error('no'))")).status, 400);
      assert.equal((await service.run("m-outcomes", "6 *")).status, 400);
    });
    assert.equal(sum("caisson_runs_total", { outcome: "ok" }), 3);
    assert.equal(sum("caisson_runs_total", { outcome: "threw" }), 1);
    assert.equal(sum("caisson_runs_total", { outcome: "called_back" }), 1);
    assert.equal(sum("caisson_runs_total", { outcome: "syntax" }), 1);
    assert.equal(sum("caisson_runs_total"), 6);
    for (const code of ["task_threw", "task_error", "code_syntax"]) {
      assert.equal(sum("caisson_run_errors_total", { code }), 1, code);
    }
    assert.equal(sum("caisson_run_errors_total"), 3);
    assert.equal(sum("caisson_run_duration_seconds_count"), 6);
    assert.equal(sum("caisson_run_start_seconds_count"), 6);
    assert.equal(sum("caisson_run_start_seconds_count", { start: "warm" }), 5);
    assert.ok(sum("caisson_run_duration_seconds_sum") > 0);
  });

  it("the containers of --metrics-containers apart, and never a name that a caller chose", async () => {
    const { sum } = await changed(async () => {
      for (const container of ["listed", "listed", "m-secret-name"]) await service.run(container, "1");
    });
    assert.equal(sum("caisson_runs_total", { container: "listed", outcome: "ok" }), 2);
    assert.equal(sum("caisson_runs_total", { container: "other-listed" }), 0);
    assert.equal(sum("caisson_runs_total", { container: "", outcome: "ok" }), 1);
    assert.equal(sum("caisson_run_duration_seconds_count", { container: "listed" }), 2);
    assert.ok(!(await scrape(service)).text.includes("m-secret-name"));
  });

  it("the processor time of runs, and never more of it than the runs took", async () => {
    const burn = "const end = Date.now() + 300; while (Date.now() < end); return 1";
    const measured = { container: "other-listed" };
    const earlier = await scrape(service);
    for (let run = 0; run < 2; run++) assert.equal((await service.run("other-listed", burn)).status, 200);
    const since = async (name: string): Promise<number> => {
      return (await scrape(service)).sum(name, measured) - earlier.sum(name, measured);
    };
    await until(async () => (await since("caisson_run_cpu_seconds_count")) >= 2, "the guest was measured");
    const cpu = await since("caisson_run_cpu_seconds_sum");
    const took = await since("caisson_run_duration_seconds_sum");
    assert.ok(cpu > 0 && cpu <= took * 1.01, `${cpu} of ${took}`);
  });

  it("decisions of the limiter, refused requests by code, and the time of the store", async () => {
    const token = await service.issue({ containers: ["m-limited"], limits: { container: { hour: 1 } } });
    const limited = await service.issue({ containers: ["m-limited-2"], limits: { token: { hour: 1 } } });
    const { sum } = await changed(async () => {
      assert.equal((await service.run("m-limited", "1", { token })).status, 200);
      assertProblem(await service.run("m-limited", "1", { token }), 429, "container_limited");
      assert.equal((await service.run("m-limited-2", "1", { token: limited })).status, 200);
      assertProblem(await service.run("m-limited-2", "1", { token: limited }), 429, "token_limited");
      assertProblem(await service.run("m-limited", "1", { token: null }), 403, "token_missing");
      assertProblem(await service.run("elsewhere", "1", { token }), 403, "token_forbidden");
    });
    assert.equal(sum("caisson_limiter_decisions_total", { decision: "admitted" }), 2);
    assert.equal(sum("caisson_limiter_decisions_total", { decision: "container_limited" }), 1);
    assert.equal(sum("caisson_limiter_decisions_total", { decision: "token_limited" }), 1);
    assert.equal(sum("caisson_limiter_decisions_total", { decision: "store_unavailable" }), 0);
    for (const code of ["container_limited", "token_limited", "token_missing", "token_forbidden"]) {
      assert.equal(sum("caisson_run_requests_refused_total", { code }), 1, code);
    }
    assert.equal(sum("caisson_run_requests_refused_total"), 4);
    assert.ok(sum("caisson_limit_store_seconds_count") >= 2);
    assert.ok((await scrape(service)).sum("caisson_limit_keys") > 0);
  });

  it("refused connections of tasks by reason, and late errors", async () => {
    const { sum } = await changed(async () => {
      const code = "fetch('http://10.0.0.1/').catch(() => 1)";
      assert.equal((await service.run("m-egress", code)).status, 200);
      const late = "(context) => { context.waitUntil(Promise.reject(new Error('late'))); return 1 }";
      assert.equal((await service.run("m-egress", late)).status, 200);
      await service.logLine((line) => line.includes("late"));
    });
    assert.equal(sum("caisson_egress_refusals_total", { reason: "address" }), 1);
    assert.equal(sum("caisson_run_late_errors_total"), 1);
  });

  it("guests, spares, containers and runs as they are now", async () => {
    await service.run("m-now", "1");
    const now = await scrape(service);
    assert.equal(now.sum("caisson_ready"), 1);
    assert.equal(now.sum("caisson_runs_in_flight"), 0);
    assert.ok(now.sum("caisson_containers_active") >= 1);
    assert.ok(now.sum("caisson_guest_slots") >= 1);
    assert.ok(now.sum("caisson_guest_slots_limit") >= now.sum("caisson_guest_slots"));
    assert.ok(now.sum("caisson_guests_alive") >= now.sum("caisson_guest_slots"));
    assert.ok(now.sum("caisson_guest_launch_seconds_count") >= 1);
    assert.equal(now.sum("caisson_guest_launch_failures_total"), 0);
    assert.equal(now.sum("caisson_build_info", { node: process.versions.node, isolation: "none" }), 1);
  });

  it("only upwards in counters and histograms", async () => {
    const earlier = await scrape(service);
    await service.run("m-upwards", "1");
    const later = await scrape(service);
    const grows = (name: string): boolean => earlier.types.get(name.replace(/_(?:bucket|sum|count)$/, "")) !== "gauge";
    for (const { name, labels, value } of earlier.series.filter((each) => grows(each.name))) {
      assert.ok(later.sum(name, labels) >= value, `${name} ${JSON.stringify(labels)}`);
    }
  });
});

describe("a traceparent", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const headers = { traceparent };

  it("is given to the task, and kept in the record and in the lines of the log", async () => {
    const given = await service.run("m-trace", "(context) => context.traceparent", { headers });
    assert.equal(given.json(), traceparent);
    const failed = await service.request("POST", "/api/runs/m-trace", { body: "throw new Error('traced')", headers });
    const record = failed.json() as { run: string; traceparent: string };
    assert.equal(record.traceparent, traceparent);
    const listed = await service.request("GET", `/api/runs/m-trace/${record.run}`);
    assert.equal((listed.json() as typeof record).traceparent, traceparent);
    const again = await service.run("m-trace", "throw new Error('traced')", { headers });
    const line = await service.logLine((each) => each.includes(again.headers["caisson-run"]!));
    assert.equal((JSON.parse(line) as typeof record).traceparent, traceparent);
  });

  it("is null for the task if the request has none, or an invalid one", async () => {
    const code = "(context) => context.traceparent";
    assert.equal((await service.run("m-trace", code)).json(), null);
    const invalid = { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` };
    assert.equal((await service.run("m-trace", code, { headers: invalid })).json(), null);
  });
});
