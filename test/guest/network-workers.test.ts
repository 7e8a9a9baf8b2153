import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { until } from "../contract/until.ts";
import { SELF_SIGNED } from "../source/self-signed.ts";
import { httpServer, httpsServer } from "./internet-servers.ts";
import { echo, type Networked, startNetworked } from "./networked.ts";

/** Defines `inWorker`, which runs a text in a worker and resolves with its first message. The text can call `send`. */
const HELPERS = `
  const { Worker } = require("worker_threads");
  const inWorker = (text, options) => new Promise((resolve, reject) => {
    const worker = new Worker("const { parentPort, workerData } = require('worker_threads'); const send = (value) => parentPort.postMessage(value);" + text, { eval: true, ...options });
    worker.once("message", resolve).once("error", reject).once("exit", (code) => reject(new Error("exit " + code)));
  });
`;

describe("workers of a task", () => {
  let net: Networked;
  const value = (code: string): Promise<unknown> => net.guest.value(HELPERS + code);

  before(async () => {
    net = await startNetworked(
      { "web.test:80": httpServer(), "code.test:443": httpsServer(), "echo.test:7": echo() },
      { "one.test": { addresses: [{ address: "192.0.2.1", family: 4 }] } },
    );
  });
  after(() => net[Symbol.asyncDispose]());

  it("reach the network through the service, which charges the run that started them", async () => {
    const { id, outcome } = net.guest.start(
      net.guest.code(`${HELPERS} return inWorker("fetch('http://web.test/w').then((r) => r.text()).then(send)")`),
    );
    assert.equal((await outcome).result, '"GET /w 0"');
    assert.equal(net.gateway.opens.at(-1)!.run, id);
  });

  it("use TLS, resolve names, and transfer large bodies in both directions", async () => {
    const ca = JSON.stringify(JSON.stringify(SELF_SIGNED.cert)).slice(1, -1);
    assert.equal(
      await value(
        `return inWorker("require('https').get({ host: 'code.test', path: '/t', ca: ${ca} }, (r) => r.setEncoding('utf8').once('data', send))")`,
      ),
      "GET /t 0",
    );
    assert.deepEqual(await value(`return inWorker("require('dns').promises.lookup('one.test').then(send)")`), {
      address: "192.0.2.1",
      family: 4,
    });
    assert.deepEqual(
      await value(`return inWorker(\`(async () => {
        const down = (await (await fetch("http://web.test/large")).arrayBuffer()).byteLength;
        const up = await (await fetch("http://web.test/up", { method: "POST", body: "x".repeat(down) })).text();
        send([down, up]);
      })()\`)`),
      [4 * 2 ** 20, `POST /up ${4 * 2 ** 20}`],
    );
    assert.ok(net.gateway.minCredit >= 0);
  });

  it("are denied the same hosts as the task", async () => {
    assert.equal(
      await value(`return inWorker("fetch('http://denied.test/').catch((error) => send(error.cause.code))")`),
      "EGRESS_DENIED",
    );
  });

  it("receive their own data and options, and their workers have the network too", async () => {
    assert.deepEqual(
      await value(`
        const { port1, port2 } = new MessageChannel();
        const text = "const data = [workerData.a, (await import('node:worker_threads')).workerData.a, process.argv[2], process.env.X]; workerData.port.postMessage(data)";
        const got = new Promise((resolve) => port1.once("message", resolve));
        await inWorker("(async () => { " + text + "; send(1) })()", { workerData: { a: 1, port: port2 }, transferList: [port2], argv: ["two"], env: { X: "three" }, execArgv: [] });
        const data = await got;
        port1.close();
        return data;
      `),
      [1, 1, "two", "three"],
    );
    assert.equal(
      await value(`return inWorker(\`
        const { Worker } = require("worker_threads");
        new Worker("fetch('http://web.test/deep').then((r) => r.text()).then((text) => require('worker_threads').parentPort.postMessage(text))", { eval: true }).once("message", send);
      \`)`),
      "GET /deep 0",
    );
    assert.deepEqual(
      await value(`
        class Mine extends Worker {}
        const mine = new Mine("require('worker_threads').parentPort.postMessage(require('worker_threads').workerData ?? 'none')", { eval: true });
        const message = await new Promise((resolve) => mine.once("message", resolve));
        return [message, mine instanceof Mine, mine instanceof Worker, mine instanceof (await import("node:worker_threads")).Worker];
      `),
      ["none", true, true, true],
    );
  });

  it("live until their last connection closes", async () => {
    assert.equal(
      await value(
        `return new Promise((resolve) => new Worker("require('net').connect(7, 'echo.test', function () { this.end('x') }).resume()", { eval: true }).once("exit", resolve))`,
      ),
      0,
    );
    assert.equal(
      await value(
        `return new Promise((resolve) => new Worker("require('net').connect(7, 'echo.test').unref()", { eval: true }).once("exit", resolve))`,
      ),
      0,
    );
  });

  it("close their connections when they end", async () => {
    await value(`
      const worker = new Worker("require('net').connect(7, 'echo.test', () => require('worker_threads').parentPort.postMessage(1))", { eval: true });
      await new Promise((resolve) => worker.once("message", resolve));
      await worker.terminate();
    `);
    const { id } = net.gateway.opens.at(-1)!;
    await until(() => !net.gateway.streams.has(id), "the stream is reset");
  });
});
