import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { RunRecord } from "../../src/records/record.ts";
import { httpServer, httpsServer, listen } from "../guest/internet-servers.ts";
import { SELF_SIGNED } from "../source/self-signed.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** The bytes of the answer of the path `/large`. */
const LARGE_BYTES = 4 * 2 ** 20;

const servers = { web: httpServer(), secure: httpsServer() };
const ports: Record<string, number> = {};
let service: Service;

before(async () => {
  for (const [name, server] of Object.entries(servers)) ports[name] = await listen(server);
  const flags = Object.values(ports).flatMap((port) => ["--egress-allow", `127.0.0.1:${port}`]);
  service = await startService([...NO_WALL, ...flags]);
});
after(async () => {
  await service.stop();
  for (const server of Object.values(servers)) server.close();
});

/** Functions that request a path over a connection that stays open, and return the length of the answer. */
const CLIENTS: Readonly<Record<string, () => string>> = {
  fetch: () => `async (path) => (await (await fetch("http://127.0.0.1:${ports["web"]}" + path)).text()).length`,
  http: () => overAgent("http", `port: ${ports["web"]}`),
  https: () =>
    overAgent("https", `port: ${ports["secure"]}, ca: ${JSON.stringify(SELF_SIGNED.cert)}, servername: "code.test"`),
};

function overAgent(name: string, options: string): string {
  return `(path) => new Promise((resolve, reject) => {
    const client = require("${name}");
    globalThis.agent ??= new client.Agent({ keepAlive: true, maxSockets: 1 });
    client.get({ host: "127.0.0.1", agent: globalThis.agent, path, ${options} }, async (response) => {
      let length = 0;
      for await (const chunk of response) length += chunk.length;
      resolve(length);
    }).on("error", reject);
  })`;
}

async function egressOf(container: string, run: string): Promise<RunRecord["egress"]> {
  let record: RunRecord | undefined;
  await until(async () => {
    record = (await service.request("GET", `/api/runs/${container}/${run}`)).json() as RunRecord;
    return record.status !== "running";
  }, "the run has ended");
  return record!.egress;
}

describe("a connection of a pool that another run has opened", () => {
  for (const [name, client] of Object.entries(CLIENTS)) {
    it(`counts for the run that sends on it: ${name}`, async () => {
      const container = `pooled-${name}`;
      const turns = `const turn = async (is) => { while (globalThis.turn !== is) await new Promise((go) => setTimeout(go, 5)); };`;
      const prelude = `const ask = ${client()}; ${turns}`;
      const first = `${prelude} await ask("/first"); globalThis.turn = "second"; await turn("first"); await ask("/last"); return 1`;
      const second = `${prelude} await turn("second"); const bytes = await ask("/large"); globalThis.turn = "first"; return bytes`;
      const [opener, sender] = await Promise.all([service.run(container, first), service.run(container, second)]);
      assert.deepEqual([opener.json(), sender.json()], [1, LARGE_BYTES]);
      const [opened, sent] = await Promise.all(
        [opener, sender].map((answer) => egressOf(container, answer.headers["caisson-run"]!)),
      );
      assert.deepEqual([opened!.connections, sent!.connections], [1, 0], "one connection serves both");
      assert.ok(sent!.bytesReceived >= LARGE_BYTES, JSON.stringify(sent));
      assert.ok(opened!.bytesReceived < LARGE_BYTES / 10, JSON.stringify(opened));
      assert.ok(opened!.bytesSent > 50 && sent!.bytesSent > 20, JSON.stringify([opened, sent]));
    });
  }
});

describe("the code of a run that has ended", () => {
  const connect = `() => new Promise((resolve) => require("http")
    .get({ host: "127.0.0.1", port: PORT, agent: false }, (response) => response.resume().on("end", resolve))
    .on("error", resolve))`;
  const goesOn = `const connect = ${connect};
    globalThis.connected = 0;
    while (globalThis.isStopped !== true) { await connect(); globalThis.connected += 1; }`;
  const watches = `const from = globalThis.connected;
    for (let turn = 0; turn < 2_000 && globalThis.connected < from + 5; turn++) await new Promise((go) => setTimeout(go, 5));
    globalThis.isStopped = true;
    return globalThis.connected - from;`;

  for (const [way, leave] of [
    ["by a short timeout", leaveByTimeout],
    ["by closing the connection", leaveByAbort],
    ["with its answer", answerBefore],
  ] as const) {
    it(`uses no network budget of another run: ended ${way}`, async () => {
      const container = way.replaceAll(" ", "-");
      await leave(container, goesOn.replace("PORT", String(ports["web"])));
      const other = await service.run(container, watches);
      assert.ok((other.json() as number) >= 5, "the code goes on");
      const use = await egressOf(container, other.headers["caisson-run"]!);
      assert.equal(use?.connections ?? 0, 0, JSON.stringify(use));
    });
  }
});

async function answerBefore(container: string, code: string): Promise<void> {
  const { text } = await service.run(container, `(async () => { ${code} })(); return 7`);
  assert.equal(text, "7");
}

async function leaveByTimeout(container: string, code: string): Promise<void> {
  const token = await service.issue({ containers: [container], timeout: "500ms" });
  const { status, text } = await service.run(container, code, { token });
  assert.equal(status, 500, text);
}

async function leaveByAbort(container: string, code: string): Promise<void> {
  const leaver = new AbortController();
  const left = assert.rejects(service.request("POST", `/api/run/${container}`, { body: code, signal: leaver.signal }));
  await until(async () => (await service.run(container, "globalThis.connected ?? 0")).json() !== 0, "it has begun");
  leaver.abort();
  await left;
  await until(async () => {
    const { runs } = (await service.request("GET", `/api/runs/${container}`)).json() as { runs: RunRecord[] };
    return runs.length > 0 && runs.every(({ status }) => status !== "running");
  }, "the service has noticed");
}
