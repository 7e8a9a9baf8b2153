import assert from "node:assert/strict";
import type { Server } from "node:net";
import { after, before, describe, it } from "node:test";

import { http2Server, httpServer, httpsServer, listen, startTlsServer } from "../guest/internet-servers.ts";
import { echo, tcp } from "../guest/networked.ts";
import { SELF_SIGNED } from "../source/self-signed.ts";
import { assertProblem } from "./problem.ts";
import { type Service, startService } from "./service.ts";

/** A server on loopback stands for the internet. The operator allows its address. */

const LARGE_BYTES = 4 * 2 ** 20;

const HELPERS = `
  const ca = ${JSON.stringify(SELF_SIGNED.cert)};
  const servername = "code.test";
  const host = "127.0.0.1";
  const { once } = require("events");
  const textOf = async (stream) => {
    let text = "";
    for await (const chunk of stream) text += chunk;
    return text;
  };
  const ask = (client, options, body) => new Promise((resolve, reject) =>
    client.request({ host, ...options }, (response) => resolve(textOf(response))).once("error", reject).end(body));
  const refusal = (promise) => promise.then(() => "it got through", (error) => (error.cause ?? error).code);
`;

for (const level of ["namespaces", "confined"]) {
  describe(`the network access of a run at the isolation level ${level}`, () => testEgress(level));
}

function testEgress(level: string): void {
  const servers: Record<"web" | "secure" | "http2" | "mail" | "echo" | "forbidden", Server> = {
    web: httpServer(),
    secure: httpsServer(),
    http2: http2Server(),
    mail: startTlsServer(),
    echo: echo(),
    forbidden: tcp((socket) => {
      forbiddenConnections += 1;
      socket.destroy();
    }),
  };
  let forbiddenConnections = 0;
  const ports: Record<string, number> = {};
  let service: Service;
  /** That allows a place by its name, and to dial the port that it listens on itself. */
  let named: Service;

  before(async () => {
    for (const [name, server] of Object.entries(servers)) ports[name] = await listen(server);
    const allowed = Object.entries(ports).filter(([name]) => name !== "forbidden");
    const flags = allowed.flatMap(([, port]) => ["--egress-allow", `127.0.0.1:${port}`]);
    const dialled = ["--egress-ports", ["80,443", ports["forbidden"], ports["web"]].join(",")];
    // Below the ports that the kernel assigns.
    const port = String(20_000 + (process.pid % 10_000));
    const own = ["--port", port, "--egress-ports", port, "--egress-allow", `localhost:${ports["web"]}`];
    [service, named] = await Promise.all([
      startService(["--isolation", level, ...flags, ...dialled]),
      startService(["--isolation", level, ...own]),
    ]);
  });
  after(async () => {
    await Promise.all([service.stop(), named.stop()]);
    for (const server of Object.values(servers)) server.close();
  });

  const prelude = (): string => `${HELPERS} const ports = ${JSON.stringify(ports)};`;

  async function value(code: string, token?: string): Promise<unknown> {
    const answer = await service.run("egress", prelude() + code, token === undefined ? {} : { token });
    assert.equal(answer.status, 200, answer.text);
    return answer.json();
  }

  async function refusedFor(reason: string): Promise<number> {
    const health = await service.request("GET", "/healthz", { token: null });
    return (health.json() as { egressRefused?: Record<string, number> }).egressRefused?.[reason] ?? 0;
  }

  for (const [title, code, expected] of [
    ["fetch", `return fetch("http://127.0.0.1:" + ports.web + "/a").then((r) => r.text())`, "GET /a 0"],
    [
      "fetch with a large body",
      `return fetch("http://127.0.0.1:" + ports.web + "/b", { method: "POST", body: "x".repeat(${LARGE_BYTES}) }).then((r) => r.text())`,
      `POST /b ${LARGE_BYTES}`,
    ],
    [
      "fetch of a large answer",
      `return (await (await fetch("http://127.0.0.1:" + ports.web + "/large")).arrayBuffer()).byteLength`,
      LARGE_BYTES,
    ],
    [
      "a redirect to an allowed destination",
      `return fetch("http://127.0.0.1:" + ports.web + "/redirect?to=/there").then((r) => r.text())`,
      "GET /there 0",
    ],
    ["http", `return ask(require("http"), { port: ports.web, path: "/c" })`, "GET /c 0"],
    [
      "http with a separate agent",
      `const http = require("http"); return ask(http, { port: ports.web, path: "/d", agent: new http.Agent({ keepAlive: true }) })`,
      "GET /d 0",
    ],
    ["https", `return ask(require("https"), { port: ports.secure, path: "/e", ca, servername })`, "GET /e 0"],
    [
      "https with a separate agent",
      `const https = require("https"); return ask(https, { port: ports.secure, path: "/f", agent: new https.Agent({ ca, servername }) })`,
      "GET /f 0",
    ],
    [
      "https of a large answer",
      `return (await ask(require("https"), { port: ports.secure, path: "/large", ca, servername })).length`,
      LARGE_BYTES,
    ],
    [
      "https with a large body",
      `return ask(require("https"), { port: ports.secure, path: "/g", method: "POST", ca, servername }, "x".repeat(${LARGE_BYTES}))`,
      `POST /g ${LARGE_BYTES}`,
    ],
    [
      "TCP with one direction closed",
      `const s = require("net").connect(ports.echo, host); s.end("half"); return textOf(s)`,
      "half",
    ],
    [
      "TLS",
      `const s = require("tls").connect({ host, port: ports.secure, ca, servername }); await once(s, "secureConnect"); const secured = [s.authorized, s.remoteAddress]; s.destroy(); return secured`,
      [true, "127.0.0.1"],
    ],
    [
      "STARTTLS",
      `const socket = require("net").connect(ports.mail, host);
       await once(socket, "data");
       socket.write("STARTTLS\\n");
       await once(socket, "data");
       const secure = require("tls").connect({ socket, ca, servername });
       secure.write("mail");
       return textOf(secure)`,
      "secret mail",
    ],
    [
      "HTTP/2",
      `const session = require("http2").connect("https://127.0.0.1:" + ports.http2, { ca, servername });
       const text = await textOf(session.request({ ":path": "/h" }).setEncoding("utf8"));
       session.close();
       return text`,
      "h2 /h",
    ],
    [
      "a WebSocket",
      `const socket = new WebSocket("ws://127.0.0.1:" + ports.web);
       await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject });
       socket.send("hello");
       const { data } = await new Promise((resolve) => (socket.onmessage = resolve));
       socket.close();
       return data`,
      "HELLO",
    ],
    [
      "a worker",
      `const text = "fetch('http://127.0.0.1:" + ports.web + "/w').then((r) => r.text()).then((text) => require('worker_threads').parentPort.postMessage(text))";
       const worker = new (require("worker_threads").Worker)(text, { eval: true });
       return new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject))`,
      "GET /w 0",
    ],
  ] as const) {
    it(`reaches an allowed destination by ${title}`, async () => {
      assert.deepEqual(await value(code), expected);
    });
  }

  it("reaches a host that the operator allows by name, by every way to look it up", async () => {
    for (const code of [
      `fetch("http://localhost:" + ports.web + "/n").then((r) => r.text())`,
      `ask(require("http"), { host: "localhost", port: ports.web, path: "/n", family: 4 })`,
      `ask(require("http"), { host: "localhost", port: ports.web, path: "/n", lookup: (...args) => require("dns").lookup(args[0], { ...args[1], family: 4 }, args[2]) })`,
    ]) {
      const answer = await named.run("named", `${prelude()} return ${code}`);
      assert.equal(answer.text, '"GET /n 0"', code);
    }
  });

  it("refuses every other address in every spelling", async () => {
    const previousRefusals = await refusedFor("address");
    const forbidden = ports["forbidden"];
    const urls = [
      ...["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "[::1]", "[::]"],
      ...["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"],
      ...[
        "[fe80::1]",
        "[fc00::1]",
        "10.0.0.1",
        "192.168.0.1",
        "172.16.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "168.63.129.16",
      ],
    ].map((host) => `http://${host}:${forbidden}/`);
    const codes = (await value(
      `return Promise.all(${JSON.stringify(urls)}.map(async (url) => [url, await refusal(fetch(url))]))`,
    )) as [string, string][];
    assert.deepEqual(
      codes,
      urls.map((url) => [url, "EGRESS_DENIED"]),
    );
    assert.equal(forbiddenConnections, 0);
    assert.equal(await refusedFor("address"), previousRefusals + urls.length);
  });

  it("refuses every client in the same way, with the destination and the reason", async () => {
    const destination = `{ host, port: ports.forbidden }`;
    for (const call of [
      `ask(require("http"), ${destination})`,
      `ask(require("https"), ${destination})`,
      `once(require("net").connect(${destination}), "connect")`,
      `once(require("tls").connect(${destination}), "secureConnect")`,
      `once(require("http2").connect("https://127.0.0.1:" + ports.forbidden), "connect")`,
    ]) {
      assert.equal(await value(`return refusal(${call})`), "EGRESS_DENIED", call);
    }
    const messages = await value(
      `return fetch("http://127.0.0.1:" + ports.forbidden).catch((error) => [error.message, error.cause.message])`,
    );
    const [message, cause] = messages as [string, string];
    assert.equal(message, "fetch failed");
    assert.match(cause, new RegExp(`127\\.0\\.0\\.1.*${ports["forbidden"]}`));
    assert.equal(forbiddenConnections, 0);
  });

  it("refuses the target of a redirect from an allowed destination", async () => {
    for (const to of [
      `http://127.0.0.1:${ports["forbidden"]}/`,
      "http://169.254.169.254/latest/meta-data/",
      `http://[::1]:${ports["web"]}/`,
    ]) {
      const code = `return refusal(fetch("http://127.0.0.1:" + ports.web + "/redirect?to=" + encodeURIComponent(${JSON.stringify(to)})))`;
      assert.equal(await value(code), "EGRESS_DENIED", to);
    }
    assert.equal(forbiddenConnections, 0);
  });

  it("refuses the service itself, even on a port that is allowed", async () => {
    for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"]) {
      const url = `http://${host}:${named.port}/healthz`;
      const answer = await named.run("egress", `${HELPERS} return refusal(fetch("${url}"))`);
      assert.equal(answer.text, '"EGRESS_DENIED"', host);
    }
    const health = (await named.request("GET", "/healthz", { token: null })).json() as object;
    assert.deepEqual((health as { egressRefused: object }).egressRefused, { address: 4 });
  });

  it("refuses every destination that the token does not name", async () => {
    const call = `return refusal(fetch("http://127.0.0.1:" + ports.web + "/"))`;
    for (const [net, expected] of [
      [false, "EGRESS_DENIED"],
      [["api.example.com"], "EGRESS_DENIED"],
      [["127.0.0.1"], "it got through"],
    ] as const) {
      const token = await service.issue({ containers: ["*"], net });
      assert.equal(await value(call, token), expected, JSON.stringify(net));
    }
  });

  it("keeps a connection for the next run of the container", async () => {
    const kept = `globalThis.agent ??= new (require("http").Agent)({ keepAlive: true, maxSockets: 1 });
      return new Promise((resolve, reject) => require("http").get({ host, port: ports.web, path: "/kept", agent }, function (response) {
        response.resume().once("end", () => resolve(this.reusedSocket));
      }).once("error", reject))`;
    assert.equal(await value(kept), false);
    assert.equal(await value(kept), true);
  });

  it("reports the error of fetch and its cause if a task's fetch fails", async () => {
    const answer = await service.run("egress", `await fetch("http://10.0.0.1/")`);
    const problem = assertProblem(answer, 500, "task_threw");
    assert.match(problem.detail, /fetch failed/);
    assert.match(problem.hint!, /The cause: .*10\.0\.0\.1/);
  });
}
