import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "./problem.ts";
import { NO_WALL, type Service, startService } from "./service.ts";

const FLAGS = [
  "--container-runs",
  "3",
  "--console-limit",
  "1KiB",
  "--family-event-readers",
  "2",
  "--family-containers",
  "5",
  "--keep-runs",
  "0s",
];

let service: Service;
before(async () => {
  service = await startService([...NO_WALL, ...FLAGS]);
});
after(() => service.stop());

interface Listed {
  readonly runs: readonly { readonly run: string }[];
}

describe("a bound of records that an operator sets", () => {
  it("limits the runs of a container in memory", async () => {
    const runs: string[] = [];
    for (let at = 0; at < 5; at++) runs.push((await service.run("few", "1")).headers["caisson-run"]!);
    const { runs: listed } = (await service.request("GET", "/api/runs/few")).json() as Listed;
    assert.deepEqual(
      listed.map(({ run }) => run),
      runs.slice(2).toReversed(),
    );
  });

  it("limits the console lines of a run, and the record counts the others", async () => {
    const code = "for (let at = 0; at < 20; at++) console.log('x'.repeat(100)); return 1";
    const record = (await service.request("POST", "/api/runs/prints", { body: code })).json() as {
      console: unknown[];
      dropped: { lines: number; bytes: number };
    };
    assert.equal(record.console.length + record.dropped.lines, 20);
    // Each line takes its text and 64 bytes.
    assert.equal(record.console.length, Math.floor(1_024 / 164));
    assert.equal(record.dropped.bytes, record.dropped.lines * 100);
  });

  it("limits the containers of a token with 50 tokens below it that the usage names, and counts all runs", async () => {
    const parent = await service.issue({ containers: ["u-*"], can: ["run", "issue", "logs"], depth: 2 });
    const tokens: string[] = [];
    for (let at = 0; at < 50; at++) {
      const json = { containers: [`u-${at}`], can: ["run"] };
      const issued = await service.request("POST", "/api/tokens", { token: parent, json });
      tokens.push((issued.json() as { token: string }).token);
    }
    const query = { by: "container" };
    for (const [at, token] of tokens.entries()) await service.run(`u-${at}`, "1", { token });
    const { usage } = (await service.request("GET", "/api/usage", { query, token: parent })).json() as {
      usage: { container: string; from: string; runs: { ok: number } }[];
    };
    const named = usage.filter(({ container }) => container !== "(other)");
    // An hour may begin in the middle of the runs.
    const hours = new Set(named.map(({ from }) => from)).size;
    assert.ok(hours <= 2 && named.length <= 5 * hours && named.length >= 5, `${named.length} in ${hours} hours`);
    assert.equal(
      usage.reduce((sum, { runs }) => sum + runs.ok, 0),
      50,
    );
  });

  it("limits the streams of events of a token with all tokens below it", async () => {
    const issued = { containers: ["followed"], can: ["logs", "issue"], depth: 2 };
    const parent = await service.issue(issued);
    const below = await service.request("POST", "/api/tokens", {
      token: parent,
      json: { containers: ["followed"], can: ["logs"] },
    });
    const { token: child } = below.json() as { token: string };
    const ends = new AbortController();
    const open = (token: string): Promise<number> =>
      fetch(`${service.url}/api/runs/followed/events`, {
        headers: { Authorization: `Bearer ${token}` },
        signal: ends.signal,
      }).then(({ status }) => status);
    try {
      assert.deepEqual([await open(parent), await open(child)], [200, 200]);
      const third = await service.request("GET", "/api/runs/followed/events", { token: child });
      assertProblem(third, 429, "container_busy");
      assert.equal(await open(service.admin), 200);
    } finally {
      ends.abort();
    }
  });
});
