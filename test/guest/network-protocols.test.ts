import assert from "node:assert/strict";
import { createServer } from "node:http2";
import { after, before, describe, it } from "node:test";

import { SELF_SIGNED } from "../source/self-signed.ts";
import { http2Server, httpServer, httpsServer, startTlsServer } from "./internet-servers.ts";
import { type Networked, startNetworked } from "./networked.ts";

const LARGE_BYTES = 4 * 2 ** 20;
/** The name in the certificate. */
const CODE_TEST = "code.test";

const HELPERS = `
  const ca = ${JSON.stringify(SELF_SIGNED.cert)};
  const { once } = require("events");
  const textOf = async (stream) => {
    let text = "";
    for await (const chunk of stream) text += chunk;
    return text;
  };
  const ask = (client, options, body) => new Promise((resolve, reject) =>
    client.request(options, (response) => resolve(textOf(response))).once("error", reject).end(body));
`;

describe("protocols of a guest", () => {
  let net: Networked;
  const value = (code: string): Promise<unknown> => net.guest.value(HELPERS + code);

  before(async () => {
    net = await startNetworked({
      "web.test:80": httpServer(),
      "clear.test:81": createServer(),
      [`${CODE_TEST}:443`]: httpsServer(),
      [`${CODE_TEST}:8443`]: http2Server(),
      [`${CODE_TEST}:25`]: startTlsServer(),
    });
  });
  after(() => net[Symbol.asyncDispose]());

  for (const [title, code, expected] of [
    ["fetch", `return fetch("http://web.test/a").then((r) => r.text())`, "GET /a 0"],
    [
      "fetch with a large body",
      `return fetch("http://web.test/b", { method: "POST", body: "x".repeat(${LARGE_BYTES}) }).then((r) => r.text())`,
      `POST /b ${LARGE_BYTES}`,
    ],
    [
      "fetch of a large answer",
      `return (await (await fetch("http://web.test/large")).arrayBuffer()).byteLength`,
      LARGE_BYTES,
    ],
    [
      "fetch that follows a redirect",
      `return fetch("http://web.test/redirect?to=/there").then((r) => r.text())`,
      "GET /there 0",
    ],
    ["http with the global agent", `return ask(require("http"), { host: "web.test", path: "/c" })`, "GET /c 0"],
    [
      "http without an agent",
      `return ask(require("http"), { host: "web.test", path: "/d", agent: false })`,
      "GET /d 0",
    ],
    [
      "http with a body",
      `return ask(require("http"), { host: "web.test", path: "/e", method: "PUT" }, "x".repeat(${LARGE_BYTES}))`,
      `PUT /e ${LARGE_BYTES}`,
    ],
    ["https", `return ask(require("https"), { host: "${CODE_TEST}", path: "/f", ca })`, "GET /f 0"],
    [
      "https with its own agent",
      `const https = require("https"); return ask(https, { host: "${CODE_TEST}", path: "/g", agent: new https.Agent({ ca, keepAlive: true }) })`,
      "GET /g 0",
    ],
    [
      "https of a large answer",
      `const text = await ask(require("https"), { host: "${CODE_TEST}", path: "/large", ca }); return text.length`,
      LARGE_BYTES,
    ],
    [
      "https with a large body",
      `return ask(require("https"), { host: "${CODE_TEST}", path: "/h", method: "POST", ca }, "x".repeat(${LARGE_BYTES}))`,
      `POST /h ${LARGE_BYTES}`,
    ],
    [
      "imported https",
      `const { request } = await import("node:https"); return ask({ request }, { host: "${CODE_TEST}", path: "/i", ca })`,
      "GET /i 0",
    ],
    [
      "HTTP/2",
      `const session = require("http2").connect("https://${CODE_TEST}:8443", { ca });
       const text = await textOf(session.request({ ":path": "/j" }).setEncoding("utf8"));
       session.close();
       return text`,
      "h2 /j",
    ],
    [
      "a WebSocket",
      `const socket = new WebSocket("ws://web.test/");
       await new Promise((resolve) => (socket.onopen = resolve));
       socket.send("hello");
       const { data } = await new Promise((resolve) => (socket.onmessage = resolve));
       socket.close();
       await new Promise((resolve) => (socket.onclose = resolve));
       return data`,
      "HELLO",
    ],
  ] as const) {
    it(`${title} goes through the service`, async () => {
      const count = net.gateway.opens.length;
      assert.equal(await value(code), expected);
      assert.ok(net.gateway.opens.length > count || net.gateway.streams.size > 0, "no stream was opened");
    });
  }

  it("a TLS socket has the addresses and the protocol, and checks the certificate", async () => {
    assert.deepEqual(
      await value(`${connecting(`ca, ALPNProtocols: ["http/1.1"]`)}
        const members = [s.authorized, s.encrypted, s.alpnProtocol, s.remoteAddress, s.remoteFamily, typeof s.localPort, s.address().port === s.localPort, s.connecting];
        s.write("GET /tls HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n");
        return [...members, /GET \\/tls 0/.test(await textOf(s))];
      `),
      [true, true, "http/1.1", "127.0.0.1", "IPv4", "number", true, false, true],
    );
    for (const [options, code] of [
      ["", "DEPTH_ZERO_SELF_SIGNED_CERT"],
      [`ca, servername: "other.test"`, "ERR_TLS_CERT_ALTNAME_INVALID"],
    ] as const) {
      assert.equal(await value(`try { ${connecting(options)} } catch (error) { return error.code }`), code);
    }
    assert.equal(await value(`${connecting("rejectUnauthorized: false")} s.destroy(); return s.authorized`), false);
  });

  it("wrong TLS options throw, and no stream is opened", async () => {
    const count = net.gateway.opens.length;
    for (const options of [
      `{ host: "${CODE_TEST}", port: 443, minVersion: "x" }`,
      `{ host: "${CODE_TEST}", port: 70000 }`,
    ]) {
      const thrown = `try { require("tls").connect(${options}) } catch (error) { return error.code.slice(0, 4) }`;
      assert.equal(await value(thrown), "ERR_", options);
    }
    await net.guest.ping();
    assert.equal(net.gateway.opens.length, count);
  });

  it("the onread option of TLS receives the decrypted bytes", async () => {
    const text = await value(`
      let text = "";
      const onread = { buffer: Buffer.alloc(16), callback: (size, buffer) => { text += buffer.toString("latin1", 0, size); return true } };
      const s = require("tls").connect({ host: "${CODE_TEST}", port: 443, ca, onread });
      s.write("GET /own HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n");
      await once(s, "close");
      return text;
    `);
    assert.match(String(text), /GET \/own 0/);
  });

  it("every form of the TLS connect call goes through the service", async () => {
    for (const connect of [
      `tls.connect(443, "${CODE_TEST}", { ca })`,
      `tls.connect(443, { host: "${CODE_TEST}", ca }, () => {})`,
      `tls.connect({ port: 443, host: "${CODE_TEST}", ca })`,
      `tls.connect({ socket: require("net").connect(443, "${CODE_TEST}"), servername: "${CODE_TEST}", ca })`,
      `(await import("node:tls")).connect({ port: 443, host: "${CODE_TEST}", ca })`,
      `process.getBuiltinModule("node:tls").connect({ port: 443, host: "${CODE_TEST}", ca })`,
    ]) {
      const code = `const tls = require("tls"); const s = ${connect}; await once(s, "secureConnect"); const is = s instanceof tls.TLSSocket; s.end(); await once(s.resume(), "close"); return is`;
      assert.equal(await value(code), true, connect);
    }
  });

  it("an unencrypted connection can be upgraded to TLS", async () => {
    for (const secure of [
      `require("tls").connect({ socket, host: "${CODE_TEST}", ca })`,
      `new (require("tls").TLSSocket)(socket, { secureContext: require("tls").createSecureContext({ ca }) })`,
    ]) {
      const text = await value(`
        const socket = require("net").connect(25, "${CODE_TEST}");
        await once(socket, "data");
        socket.write("STARTTLS\\n");
        await once(socket, "data");
        socket.removeAllListeners("data");
        const secure = ${secure};
        secure.write("mail");
        return textOf(secure);
      `);
      assert.equal(text, "secret mail", secure);
    }
  });

  it("TLS to a denied host fails with the error of the connection", async () => {
    for (const call of [
      `fetch("https://denied.test/")`,
      `ask(require("https"), { host: "denied.test" })`,
      `once(require("tls").connect(443, "denied.test"), "secureConnect")`,
      `once(require("http2").connect("https://denied.test"), "connect")`,
    ]) {
      const error = await value(
        `try { await ${call} } catch (error) { return [(error.cause ?? error).code, (error.cause ?? error).message] }`,
      );
      assert.deepEqual(error, ["EGRESS_DENIED", 'connect to "denied.test" port 80 is not allowed'], call);
    }
  });

  it("an unencrypted HTTP/2 session emits connect only when its socket is connected", async () => {
    assert.deepEqual(await value(http2Events("http://denied.test")), ["error", "close"]);
    assert.deepEqual(await value(http2Events("http://clear.test:81")), ["connect", "close"]);
  });

  it("fetch of a denied host rejects with the reason as its cause", async () => {
    assert.deepEqual(
      await value(
        `return fetch("http://denied.test/").catch((error) => [error.name, error.message, error.cause.code, error.cause.message])`,
      ),
      ["TypeError", "fetch failed", "EGRESS_DENIED", 'connect to "denied.test" port 80 is not allowed'],
    );
    const fault = await net.guest.fault(`await fetch("http://denied.test/")`);
    assert.match(fault.detail, /fetch failed/);
  });

  it("a WebSocket to a denied host fails and does not hang", async () => {
    assert.equal(
      await value(
        `const socket = new WebSocket("ws://denied.test/"); return new Promise((resolve) => (socket.onerror = (event) => resolve(event.type)))`,
      ),
      "error",
    );
  });

  it("an agent keeps its connection between runs", async () => {
    const request = `return ask(require("http"), { host: "web.test", path: "/kept", agent: (globalThis.kept ??= new (require("http").Agent)({ keepAlive: true })) })`;
    await value(request);
    const opens = net.gateway.opens.length;
    assert.equal(await value(request), "GET /kept 0");
    assert.equal(net.gateway.opens.length, opens);
  });

  it("an aborted fetch rejects with AbortError", async () => {
    const name = await value(`
      const abort = new AbortController();
      const response = await fetch("http://web.test/large", { signal: abort.signal });
      abort.abort();
      return response.text().catch((error) => error.name);
    `);
    assert.equal(name, "AbortError");
  });

  it("a guest does not load TLS before its first use, and every first use goes through the service", async () => {
    const loaded = `process.moduleLoadList.some((name) => name.endsWith(" tls"))`;
    for (const first of [
      `fetch("https://denied.test/").catch((error) => error.cause.code)`,
      `new Promise((resolve) => { new WebSocket("wss://denied.test/").onerror = resolve }).then(() => "EGRESS_DENIED")`,
      `new Promise((resolve) => { new (require("http").WebSocket)("wss://denied.test/").onerror = resolve }).then(() => "EGRESS_DENIED")`,
      `new Promise((resolve) => require("node:https").get("https://denied.test/").once("error", resolve)).then(({ code }) => code)`,
      `import("http2").then((http2) => new Promise((resolve) => http2.connect("https://denied.test/").once("error", resolve))).then(({ code }) => code)`,
      `new Promise((resolve) => process.getBuiltinModule("tls").connect(443, "denied.test").once("error", resolve)).then(({ code }) => code)`,
      `new Promise((resolve) => require("module")._load("tls").connect(443, "denied.test").once("error", resolve)).then(({ code }) => code)`,
    ]) {
      await using fresh = await startNetworked({});
      const code = `const net = require("net"); require("http"); const before = ${loaded}; return [before, await ${first}, ${loaded}]`;
      assert.deepEqual(await fresh.guest.value(code), [false, "EGRESS_DENIED", true], first);
      assert.equal(fresh.gateway.opens.length, 1, first);
    }
  });
});

function connecting(options: string): string {
  return `const s = require("tls").connect({ host: "${CODE_TEST}", port: 443, ${options} }); await once(s, "secureConnect");`;
}

function http2Events(url: string): string {
  return `
    const session = require("http2").connect("${url}");
    const seen = [];
    for (const name of ["connect", "error", "close"]) session.on(name, () => seen.push(name));
    session.once("connect", () => session.close());
    await new Promise((resolve) => session.once("close", resolve));
    return seen;
  `;
}
