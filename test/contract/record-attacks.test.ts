import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { RunRecord } from "../../src/records/record.ts";
import { assertProblem } from "./problem.ts";
import { type Home, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** Small shares, so that a few runs are a flood. */
const FLAGS = [
  ...NO_WALL,
  ...["--runs-rate", "64KiB", "--family-runs", "256KiB", "--recent-runs", "1MiB", "--token-new-containers", "100000"],
];
const PRINTS = 'for (let i = 0; i < 60; i++) console.log("x".repeat(1_000)); throw new Error("flood")';

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  service = await startService(FLAGS, home);
});
after(async () => {
  await service.stop();
  await home[Symbol.asyncDispose]();
});

async function restart(): Promise<void> {
  await service.stop();
  service = await startService(FLAGS, home);
}

async function idsOf(container: string, token?: string): Promise<string[]> {
  const answer = await service.request("GET", `/api/runs/${container}`, token === undefined ? {} : { token });
  assert.equal(answer.status, 200, answer.text);
  return (answer.json() as { runs: RunRecord[] }).runs.map(({ run }) => run);
}

async function issueBelow(token: string, json: object): Promise<string> {
  const answer = await service.request("POST", "/api/tokens", { token, json });
  assert.equal(answer.status, 201, answer.text);
  return (answer.json() as { token: string }).token;
}

describe("a customer that floods the records with 50 child tokens", () => {
  it("removes no history of other families, in memory or on disk", async () => {
    const victim = await service.issue({ containers: ["victim"], can: ["run", "logs"] });
    const own: string[] = [];
    for (let count = 0; count < 5; count++) {
      const failed = await service.run("victim", `console.log("run ${count}"); throw new Error("mine")`, {
        token: victim,
      });
      own.unshift(failed.headers["caisson-run"]!);
    }
    const flooder = await service.issue({ containers: ["flood-*"], can: ["run", "issue", "logs"], depth: 1 });
    const children: string[] = [];
    for (let at = 0; at < 50; at++) children.push(await issueBelow(flooder, { containers: ["flood-*"], can: ["run"] }));
    for (const [at, token] of children.entries()) {
      for (let count = 0; count < 3; count++) await service.run(`flood-${at % 3}`, PRINTS, { token });
    }
    assert.deepEqual(await idsOf("victim", victim), own);
    await restart();
    assert.deepEqual(await idsOf("victim", victim), own);
    const list = await service.request("GET", "/api/runs", { token: flooder });
    const { omitted } = list.json() as { omitted: number };
    assert.ok(omitted > 0, "the list reports how many runs it does not have");
    for (const run of own) {
      const record = await service.request("GET", `/api/runs/victim/${run}`, { token: victim });
      assert.match((record.json() as RunRecord).console[0]!.text, /^run \d$/);
    }
  });

  it("with many names of containers leaves the others their memory", async () => {
    const victim = await service.run("names-victim", "throw new Error('kept in memory')");
    const token = await service.issue({ containers: ["names-*"], can: ["run", "logs"] });
    // `test/records/recent.test.ts` has 10,000 names.
    const names = Array.from({ length: 48 }, (_, at) => `names-${at}`);
    for (let at = 0; at < names.length; at += 8) {
      await Promise.all(
        names.slice(at, at + 8).map((name) => service.run(name, "throw new Error('x'.repeat(30_000))", { token })),
      );
    }
    assert.deepEqual(await idsOf("names-victim"), [victim.headers["caisson-run"]]);
  });
});

describe("a reader without the rights", () => {
  it("gets 403 for every path of records, whether the container and the run exist or not", async () => {
    const failed = await service.run("rights", "throw new Error('secret of the house')");
    const run = failed.headers["caisson-run"]!;
    const runOnly = await service.issue({ containers: ["rights"], can: ["run"] });
    const elsewhere = await service.issue({ containers: ["elsewhere"], can: ["run", "logs"] });
    for (const path of [
      `rights/${run}`,
      "rights/000000000000-1",
      `rights/${run}/console`,
      "rights/events",
      "rights",
      "never",
    ]) {
      for (const token of [runOnly, elsewhere]) {
        const answer = await service.request("GET", `/api/runs/${path}`, { token });
        assertProblem(answer, 403, "token_forbidden");
        assert.ok(!answer.text.includes("secret of the house"));
      }
    }
    for (const path of ["/api/runs", "/api/failures", "/api/usage"]) {
      assertProblem(await service.request("GET", path, { token: runOnly }), 403, "token_forbidden");
    }
    assertProblem(await service.request("GET", "/api/audit", { token: elsewhere }), 403, "token_forbidden");
  });

  it("finds no run of another container by q=", async () => {
    await service.run("q-other", "console.log('a needle in the hay'); throw new Error('x')");
    await service.run("q-own", "console.log('a needle, too'); throw new Error('x')");
    const token = await service.issue({ containers: ["q-own"], can: ["logs"] });
    const found = await service.request("GET", "/api/runs", { token, query: { q: "NEEDLE" } });
    const { runs } = found.json() as { runs: RunRecord[] };
    assert.deepEqual(
      runs.map(({ container }) => container),
      ["q-own"],
    );
    for (const q of ["%", "_", "'; DROP TABLE runs; --", "\u0000", "\\", "\u2028"]) {
      const answer = await service.request("GET", "/api/runs", { query: { q } });
      assert.ok([200, 400].includes(answer.status), answer.text);
    }
  });

  it("cannot read what a public task printed, threw or is made of", async () => {
    const code = "() => { console.log('printed by the owner'); throw new TypeError('thrown by the owner'); }";
    const put = await service.request("PUT", "/api/tasks/open/door", { json: { code, public: true } });
    assert.equal(put.status, 201, put.text);
    for (const path of ["/api/run/open/door", "/api/runs/open?task=door"]) {
      const answer = await service.request("POST", path, { token: null, json: {} });
      assert.doesNotMatch(answer.text, /by the owner|TypeError/, answer.text);
      assert.match(answer.text, /"run":"[0-9a-f]{12}-/);
    }
    assert.equal((await service.request("PUT", "/api/tasks/open/door", { json: { errors: "shown" } })).status, 200);
    const shown = await service.request("POST", "/api/run/open/door", { token: null, json: {} });
    assert.match(shown.text, /thrown by the owner/);
  });
});

it("a client without a token learns nothing of the machine and the tokens of the owner from a record", async () => {
  const owner = await service.issue({
    containers: ["open-2"],
    can: ["run", "tasks"],
    limits: { token: { month: 1_000 } },
  });
  const code = "() => { console.log('printed'); return 1; }";
  await service.request("PUT", "/api/tasks/open-2/door", {
    json: { code, public: true, errors: "shown" },
    token: owner,
  });
  const answer = await service.request("POST", "/api/runs/open-2?task=door", { token: null, json: {} });
  const { run, startedAt, ms, start, ...record } = answer.json() as Record<string, unknown>;
  assert.ok(run && startedAt && ms && start, answer.text);
  assert.deepEqual(record, {
    ...{ container: "open-2", task: "door", version: 1, trigger: "call", status: "ok", result: 1 },
    ...{ resultType: "application/json", response: null, error: null, hint: null, token: null, traceparent: null },
    ...{ node: null, console: null, dropped: null, guest: null, egress: null, limits: null },
  });
  const own = await service.request("GET", `/api/runs/open-2/${run as string}`);
  const { guest, limits } = own.json() as { guest: object | null; limits: object | null };
  assert.ok(guest !== null && limits !== null, own.text);
});

it("strangers who call a public task leave the history of the owner's private containers alone", async () => {
  const owner = await service.issue({ containers: ["shop-*"], can: ["run", "tasks", "logs"] });
  const code = "() => 'ok'";
  await service.request("PUT", "/api/tasks/shop-open/hook", {
    json: { code, public: true, record: "input" },
    token: owner,
  });
  for (let at = 0; at < 30; at++) {
    const answer = await service.request("POST", "/api/run/shop-open/hook", { token: null, json: "x".repeat(3_000) });
    assert.equal(answer.status, 200, answer.text);
  }
  for (let at = 0; at < 20; at++) await service.run("shop-private", "console.log('k'.repeat(1_000))", { token: owner });
  const omitted = async (container: string): Promise<number> =>
    ((await service.request("GET", `/api/runs/${container}`, { token: owner })).json() as { omitted: number }).omitted;
  // More than a network may write in the two minutes that the test may touch.
  await until(async () => (await omitted("shop-open")) >= 20, "calls of the strangers were left out");
  assert.equal(await omitted("shop-private"), 0);
});

describe("lines that look like something else", () => {
  const LINES = [
    'event: record\ndata: {"run":"forged"}\n\n',
    "<script>alert(1)</script>",
    "\r\n\r\nHTTP/1.1 200 OK",
    "\u2028\u0000\u001B[31m",
  ];

  it("stay one line of the console each", async () => {
    const code = `for (const line of ${JSON.stringify(LINES)}) console.log(line)`;
    const answer = await service.run("markup", code);
    const run = answer.headers["caisson-run"]!;
    const record = (await service.request("GET", `/api/runs/markup/${run}`)).json() as RunRecord;
    assert.deepEqual(
      record.console.map(({ text }) => text),
      LINES,
    );
    const ndjson = await service.request("GET", `/api/runs/markup/${run}/console`, {
      headers: { accept: "application/x-ndjson" },
    });
    assert.equal(ndjson.text.trimEnd().split("\n").length, LINES.length);
    const text = await service.request("GET", `/api/runs/markup/${run}/console`);
    assert.match(text.headers["content-type"]!, /^text\/plain/);
    assert.equal(text.headers["x-content-type-options"], "nosniff");
  });

  it("forge no event for a reader that follows the container", async () => {
    const events = { text: "" };
    const stop = new AbortController();
    const read = async (): Promise<void> => {
      const headers = { authorization: `Bearer ${service.admin}` };
      const { body } = await fetch(`${service.url}/api/runs/followed/events`, { headers, signal: stop.signal });
      for await (const chunk of body!.pipeThrough(new TextDecoderStream())) events.text += chunk;
    };
    // It ends with the abort below.
    read().catch(() => {});
    // The first run may come before the reader is connected.
    await until(async () => {
      await service.run("followed", `console.log(${JSON.stringify(LINES[0])})`);
      return events.text.includes("event: record");
    }, "the reader has an event");
    stop.abort();
    const names = [...events.text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
    const data = [...events.text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as { run: string });
    assert.equal(names.length, data.length);
    assert.ok(data.every(({ run }) => run !== "forged"));
  });
});
