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
