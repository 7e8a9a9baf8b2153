import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "./problem.ts";
import { makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const FLAGS = [
  "--container-runs",
  "3",
  "--console-limit",
  "1KiB",
  "--family-event-readers",
  "2",
  "--family-containers",
  "5",
  "--event-history",
  "2KiB",
  "--input-limit",
  "1KiB",
  "--audit-entries",
  "20",
  "--keep-runs",
  "0s",
];

let service: Service;
before(async () => {
  service = await startService([...NO_WALL, ...FLAGS]);
});
after(() => service.stop());

/** Issues tokens for containers, all below one token. */
async function issueBelow(parent: string, containers: readonly string[], count: number): Promise<string[]> {
  const tokens: string[] = [];
  for (let at = 0; at < count; at++) {
    const json = { containers: [containers[at % containers.length]], can: ["run", "logs"] };
    const issued = await service.request("POST", "/api/tokens", { token: parent, json });
    tokens.push((issued.json() as { token: string }).token);
  }
  return tokens;
}

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
    const names = Array.from({ length: 10 }, (_, at) => `u-${at}`);
    const tokens = await issueBelow(parent, names, 50);
    const query = { by: "container" };
    for (const [at, token] of tokens.entries()) await service.run(names[at % names.length]!, "1", { token });
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

  it("limits the events that a client receives when it connects again", async () => {
    const lines = (count: number): Promise<unknown> =>
      service.run("again", `for (let at = 0; at < ${count}; at++) console.log(at)`);
    const first = await follow(service, "again");
    await lines(1);
    await until(() => first.text().includes("event: record"), "the reader has the record");
    const [begin] = /(?<=^id: ).*$/m.exec(first.text())!;
    first.end();
    await lines(10);
    const late = await follow(service, "again", begin);
    await until(() => late.text().includes("event: lost"), "2 KiB of events have no place for ten more lines");
    late.end();
  });

  it("limits the input that a record keeps", async () => {
    const code = "module.exports = (context) => context.body.length";
    await service.request("PUT", "/api/tasks/inputs/kept", { json: { code, record: "input" } });
    const answer = await service.request("POST", "/api/run/inputs/kept", {
      body: "x".repeat(3_000),
      headers: { "content-type": "text/plain" },
    });
    assert.equal(answer.text, "3000");
    const record = await service.request("GET", `/api/runs/inputs/${answer.headers["caisson-run"]}`);
    assert.equal((record.json() as { input: string }).input, "x".repeat(1_024));
  });

  it("limits the entries of the audit of administrators, and of a token with 50 tokens below it to a tenth", async () => {
    const parent = await service.issue({ containers: ["audited"], can: ["issue", "run", "logs"], depth: 1 });
    await issueBelow(parent, ["audited"], 50);
    for (let minute = 1; minute <= 25; minute++) {
      await service.request("PUT", "/api/containers/audited", { json: { limits: { minute: 1_000 + minute } } });
    }
    const { entries } = (await service.request("GET", "/api/audit")).json() as {
      entries: { by: string; action: string }[];
    };
    const { jti } = JSON.parse(Buffer.from(parent.split(".")[1]!, "base64url").toString()) as { jti: string };
    assert.equal(entries.filter(({ by }) => by === jti).length, 2);
    assert.equal(entries.filter(({ action }) => action === "policy set").length, 20);
  });
});

interface Follower {
  readonly text: () => string;
  readonly end: () => void;
}

/** Follows the events of a container, from its next event or after an id. */
async function follow({ url, admin }: Service, container: string, lastId?: string): Promise<Follower> {
  const ends = new AbortController();
  const headers = { authorization: `Bearer ${admin}`, ...(lastId !== undefined && { "last-event-id": lastId }) };
  const { body } = await fetch(`${url}/api/runs/${container}/events`, { headers, signal: ends.signal });
  let text = "";
  const read = async (): Promise<void> => {
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) text += chunk;
  };
  // It ends with the abort.
  read().catch(() => {});
  return { text: () => text, end: () => ends.abort() };
}

describe("a bound of the records on disk that an operator sets", () => {
  /** Prints most of what a record keeps, and fails. */
  const PRINTS = "for (let at = 0; at < 60; at++) console.log('x'.repeat(900)); throw new Error('kept')";

  interface Health {
    readonly records?: { readonly history?: { readonly dropped?: number; readonly failure?: string | null } };
  }

  it("limits how many families have a share of their own, and how many reads wait", async () => {
    const rates = ["--runs-rate", "128KiB", "--counted-families", "10"];
    const own = await startService([...NO_WALL, ...rates, "--waiting-reads", "1", "--family-reads", "1"]);
    try {
      const tokens: string[] = [];
      for (let at = 0; at < 14; at++) tokens.push(await own.issue({ containers: [`f-${at % 7}`], can: ["run"] }));
      // The first ten have shares of two such records each, and the others one share together. If another minute begins, the
      // second round is within one.
      for (let round = 0; round < 2 && (await omittedIn(own)) === 0; round++) {
        for (const [at, token] of tokens.entries()) await own.run(`f-${at % 7}`, PRINTS, { token });
      }
      // A record is counted when the use of its run has been measured, after the answer.
      await until(async () => (await omittedIn(own)) > 0, "records are omitted");
      // Each round sends reads at the same time, which may be answered one after the other.
      const codes = async (senders: readonly string[]): Promise<Set<string>> => {
        const options = senders.map((token) => ({ token, query: { q: "in no record" } }));
        const answers = await Promise.all(options.map((each) => own.request("GET", "/api/runs", each)));
        return new Set(answers.map((answer) => (answer.json() as { code?: string }).code ?? String(answer.status)));
      };
      const readers: string[] = [];
      for (let at = 0; at < 8; at++) readers.push(await own.issue({ containers: ["*"], can: ["logs"] }));
      const family = Array.from({ length: 8 }, () => readers[0]!);
      await until(async () => (await codes(family)).has("token_limited"), "a read of the family waits");
      await until(async () => (await codes(readers)).has("overloaded"), "reads of all families wait");
      assert.deepEqual(await codes(readers.slice(0, 1)), new Set(["200"]));
    } finally {
      await own.stop();
    }
  });

  it("limits what waits for a disk that cannot be written, and a flood takes no place of another token", async () => {
    await using home = await makeHome();
    const flags = [...NO_WALL, "--disk-queue", "1MiB", "--runs-rate", "64MiB", "--token-new-containers", "1000"];
    await mkdir(home.data, { recursive: true, mode: 0o700 });
    const blocked = path.join(home.data, "runs");
    // No folder can be created in its place.
    await writeFile(blocked, "");
    let own = await startService(flags, home);
    try {
      const parent = await own.issue({ containers: ["loud-*"], can: ["run", "issue"], depth: 1 });
      const victim = await own.issue({ containers: ["quiet"], can: ["run", "logs"] });
      const loud: string[] = [];
      for (let at = 0; at < 50; at++) {
        const json = { containers: [`loud-${at % 4}`], can: ["run"] };
        const issued = await own.request("POST", "/api/tokens", { token: parent, json });
        loud.push((issued.json() as { token: string }).token);
      }
      const dropped = async (): Promise<number> =>
        ((await own.request("GET", "/healthz")).json() as Health).records?.history?.dropped ?? 0;
      for (let at = 0; (await dropped()) < 3; at++) {
        assert.ok(at < 100, "the flood is dropped soon");
        await own.run(`loud-${(at % 50) % 4}`, PRINTS, { token: loud[at % 50]! });
      }
      const failed = await own.run("quiet", "console.log('mine'); throw new Error('quiet')", { token: victim });
      await rm(blocked);
      const failure = async (): Promise<unknown> =>
        ((await own.request("GET", "/healthz")).json() as Health).records?.history?.failure ?? null;
      await until(async () => (await failure()) === null, "the disk is written again");
      await own.stop();
      own = await startService(flags, home);
      const run = failed.headers["caisson-run"]!;
      const record = await own.request("GET", `/api/runs/quiet/${run}`, { token: victim });
      assert.equal((record.json() as { console: { text: string }[] }).console[0]?.text, "mine");
    } finally {
      await own.stop();
    }
  });
});

async function omittedIn(of: Service): Promise<number> {
  return ((await of.request("GET", "/api/runs")).json() as { omitted: number }).omitted;
}
