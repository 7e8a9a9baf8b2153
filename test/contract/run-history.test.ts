import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { RunRecord } from "../../src/records/record.ts";
import { type Home, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { pause, until } from "./until.ts";

const FAILING = 'console.log("before the fault");\nconst total = null;\nreturn total.length;';

async function logsToken(service: Service, container: string): Promise<string> {
  return service.issue({ containers: [container], can: ["logs"], expiresIn: "48h" });
}

async function runsOf(service: Service, container: string, query: Record<string, string> = {}): Promise<RunRecord[]> {
  const answer = await service.request("GET", `/api/runs/${container}`, { query });
  assert.equal(answer.status, 200, answer.text);
  return (answer.json() as { runs: RunRecord[] }).runs;
}

/** Returns the counted runs of a container, by status. */
async function countsOf(service: Service, container: string): Promise<Record<string, number> | undefined> {
  const { usage } = (await service.request("GET", "/api/usage?by=container")).json() as {
    usage: { container: string; runs: Record<string, number> }[];
  };
  return usage.find((each) => each.container === container)?.runs;
}

async function inputOf(service: Service, run: string): Promise<string | undefined> {
  return ((await service.request("GET", `/api/runs/h-input/${run}`)).json() as RunRecord).input;
}

/** An option of Node: the clock of a day ago. */
const YESTERDAY = `--import=data:text/javascript,${encodeURIComponent(
  "const now = Date.now; Date.now = () => now() - 86_400_000;",
)}`;

let home: Home;
/** Each test that needs a restart leaves the service that it has started to the next test. */
let running: Service | null = null;

before(async () => {
  home = await makeHome();
});
after(async () => {
  await running?.stop();
  await home[Symbol.asyncDispose]();
});

async function serving(): Promise<Service> {
  return (running ??= await startService(NO_WALL, home));
}

/** Ends the service, and starts another one on the same data. */
async function restarted(how: "stop" | "kill9"): Promise<Service> {
  const ended = running;
  running = null;
  await ended?.[how]();
  return serving();
}

describe("the history of runs", () => {
  it("shows a customer the line, the stack and the console of yesterday's failure after a restart", async () => {
    const first = await startService(NO_WALL, { ...home, nodeOptions: YESTERDAY });
    const failed = await first.run("h-acme", FAILING);
    assert.equal(failed.status, 500);
    const run = failed.headers["caisson-run"]!;
    const token = await logsToken(first, "h-acme");
    await first.stop();

    const second = await serving();
    const list = await second.request("GET", "/api/runs/h-acme?status=threw", { token });
    assert.deepEqual(
      (list.json() as { runs: RunRecord[] }).runs.map((each) => each.run),
      [run],
    );
    const record = (await second.request("GET", `/api/runs/h-acme/${run}`, { token })).json() as RunRecord;
    assert.ok(Date.parse(record.startedAt) < Date.now() - 80_000_000, record.startedAt);
    assert.equal(record.error!.name, "TypeError");
    assert.equal(record.error!.at!.line, 3);
    assert.match(record.error!.at!.frame!, /return total\.length/);
    assert.match(record.error!.stack!, /TypeError: /);
    const console = await second.request("GET", `/api/runs/h-acme/${run}/console`, { token });
    assert.match(console.text, /before the fault/);
    const failures = (await second.request("GET", "/api/failures", { token })).json() as {
      failures: { container: string; count: number; run: string }[];
    };
    assert.deepEqual(
      failures.failures.map(({ container, count, run: last }) => [container, count, last]),
      [["h-acme", 1, run]],
    );
  });

  it("survives kill -9, but for the last second", async () => {
    const first = await serving();
    await first.run("h-kill", FAILING);
    await until(async () => (await countsOf(first, "h-kill")) !== undefined, "the run is counted on disk");
    await pause(1_500);
    const second = await restarted("kill9");
    const runs = await runsOf(second, "h-kill");
    assert.deepEqual(
      runs.map(({ status }) => status),
      ["threw"],
    );
  });

  it("of silent successes, memory has all and the disk a sample", async () => {
    const first = await serving();
    for (let count = 0; count < 20; count++) await first.run("h-silent", "1");
    assert.equal((await runsOf(first, "h-silent")).length, 20);
    const second = await restarted("stop");
    const kept = (await runsOf(second, "h-silent")).length;
    assert.ok(kept >= 1 && kept < 20, `${kept} are kept`);
    assert.deepEqual(await countsOf(second, "h-silent"), { ok: 20 });
  });

  it("has the limits of a silent run, as they were when it was admitted", async () => {
    const service = await serving();
    const token = await service.issue({ containers: ["h-limits"], limits: { token: { minute: 5 } } });
    const runs: string[] = [];
    for (let at = 0; at < 2; at++) runs.push((await service.run("h-limits", "1", { token })).headers["caisson-run"]!);
    for (const [at, run] of runs.entries()) {
      const { limits } = (await service.request("GET", `/api/runs/h-limits/${run}`)).json() as RunRecord;
      const { limit, remaining, setBy } = limits.token["minute"]!;
      assert.deepEqual([limit, remaining, setBy], [5, 4 - at, "token"]);
    }
  });

  it("has the input of a task that keeps it, of each type of text and of a silent run", async () => {
    const long = "é".repeat(40_000);
    const inputs: [type: string, body: string | Buffer, kept: string | undefined][] = [
      ["application/json", '{"a":1}', '{"a":1}'],
      ["application/x-www-form-urlencoded", "a=1&b=2", "a=1&b=2"],
      ["text/csv; charset=utf-8", "a;b\n1;2", "a;b\n1;2"],
      ["application/octet-stream", "still text", "still text"],
      // The limit cuts a character in two.
      ["text/plain", `x${long}`, `x${long.slice(0, 32_767)}`],
      ["image/png", Buffer.from([0x89, 0x50, 0xff]), undefined],
    ];
    const runs: string[] = [];
    const first = await serving();
    const code = "export default { fetch: async (request) => new Response((await request.text()).length) }";
    await first.request("PUT", "/api/tasks/h-input/keeps", { json: { code, record: "input" } });
    await first.request("PUT", "/api/tasks/h-input/keeps-not", { json: { code } });
    for (const [type, body] of inputs) {
      const headers = { "content-type": type };
      const answer = await first.request("POST", "/api/run/h-input/keeps", { body, headers });
      assert.equal(answer.status, 200, answer.text);
      runs.push(answer.headers["caisson-run"]!);
    }
    const other = await first.request("POST", "/api/run/h-input/keeps-not", { body: "secret" });
    runs.push(other.headers["caisson-run"]!);
    const secrets = { KEY: "a-secret-value" };
    await first.request("PUT", "/api/tasks/h-input/redacts", { json: { code, record: "input", secrets } });
    const redacted = await first.request("POST", "/api/run/h-input/redacts", { body: "key=a-secret-value" });
    runs.push(redacted.headers["caisson-run"]!);
    const kept = [...inputs.map(([, , text]) => text), undefined, "key=[secret]"];
    for (const [at, run] of runs.entries()) assert.equal(await inputOf(first, run), kept[at]);
    const second = await restarted("stop");
    for (const [at, run] of runs.entries()) assert.equal(await inputOf(second, run), kept[at]);
  });

  it("is off with --keep-runs 0s, and memory still answers", async () => {
    const service = await startService([...NO_WALL, "--keep-runs", "0s"]);
    try {
      const failed = await service.run("h-off", FAILING);
      const answer = await service.request("GET", "/api/runs/h-off");
      const { runs, history } = answer.json() as { runs: RunRecord[]; history: string };
      assert.deepEqual([runs.map(({ run }) => run), history], [[failed.headers["caisson-run"]], "off"]);
    } finally {
      await service.stop();
    }
  });

  it("counts a run that is in flight when the service stops as interrupted", async () => {
    const first = await serving();
    const answer = first.run("h-cut", "await new Promise(() => setInterval(() => {}, 1_000))").catch(() => null);
    await until(async () => (await runsOf(first, "h-cut")).length === 1, "the run is listed");
    const second = await restarted("kill9");
    await answer;
    // A run that was admitted less than a second before the end may be lost.
    assert.deepEqual((await countsOf(second, "h-cut")) ?? { interrupted: 1 }, { interrupted: 1 });
  });
});
