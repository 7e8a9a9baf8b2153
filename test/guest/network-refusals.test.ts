import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { type Networked, startNetworked } from "./networked.ts";

describe("the network functions that a guest does not have", () => {
  let net: Networked;
  before(async () => {
    net = await startNetworked({});
  });
  after(() => net[Symbol.asyncDispose]());

  for (const [title, code, expected] of [
    [
      "a Unix socket is denied",
      `net.connect("/run/x.sock")`,
      ["EGRESS_DENIED", /Unix socket \/run\/x\.sock .* hosts and ports/],
    ],
    ["a Unix socket as an option is denied", `net.connect({ path: "/run/x.sock" })`, ["EGRESS_DENIED", /Unix socket/]],
    [
      "a Unix socket under TLS is denied",
      `require("tls").connect({ path: "/run/x.sock" })`,
      ["EGRESS_DENIED", /Unix socket/],
    ],
    [
      "a local address is denied",
      `net.connect({ port: 80, host: "a.test", localAddress: "10.0.0.1" })`,
      ["EGRESS_DENIED", /localAddress/],
    ],
    [
      "a local port is denied",
      `net.connect({ port: 80, host: "a.test", localPort: 1234 })`,
      ["EGRESS_DENIED", /localPort/],
    ],
    ["a server cannot listen", `net.createServer().listen(8080)`, ["ENOTSUP", /export default/]],
    ["an HTTP server cannot listen", `require("http").createServer().listen(8080)`, ["ENOTSUP", /export default/]],
    ["a server cannot listen on a path", `net.createServer().listen("/tmp/s")`, ["ENOTSUP", /listen is not possible/]],
    ["a datagram socket cannot bind", `require("dgram").createSocket("udp4").bind(53)`, ["ENOTSUP", /UDP bind.*fetch/]],
    [
      "a datagram socket cannot connect",
      `(() => { const s = require("dgram").createSocket("udp4"); s.connect(53); return s })()`,
      ["ENOTSUP", /UDP connect/],
    ],
    [
      "a datagram cannot be sent",
      `(() => { const s = require("dgram").createSocket("udp4"); s.send("x", 53); return s })()`,
      ["ENOTSUP", /UDP send/],
    ],
  ] as const) {
    it(title, async () => {
      const got = (await net.guest.value(`
        const net = require("net");
        const [error] = await require("events").once(${code}, "error").catch((error) => [error]);
        return [error.code, error.message];
      `)) as [string, string];
      assert.equal(got[0], expected[0]);
      assert.match(got[1], expected[1]);
      assert.deepEqual(net.gateway.opens, []);
    });
  }

  it("queries to name servers fail with a message that names the alternative", async () => {
    for (const call of [
      `dns.promises.resolve4("a.test")`,
      `dns.promises.reverse("10.0.0.1")`,
      `new dns.promises.Resolver().resolveMx("a.test")`,
      `new Promise((_, no) => dns.resolve("a.test", "TXT", no))`,
      `new Promise((_, no) => new dns.Resolver().resolveSrv("a.test", no))`,
      `new Promise((_, no) => dns.lookupService("10.0.0.1", 80, no))`,
      `(await import("node:dns/promises")).resolveTxt("a.test")`,
    ]) {
      const [code, message] = (await net.guest.value(
        `const dns = require("dns"); return (${call.startsWith("(") ? `async () => ${call}` : `() => ${call}`})().catch((error) => [error.code, error.message])`,
      )) as [string, string];
      assert.equal(code, "ENOTIMP", call);
      assert.match(message, /use dns\.lookup/);
    }
  });

  it("send of a datagram passes its error to the callback", async () => {
    const code = await net.guest.value(
      `new Promise((resolve) => require("dgram").createSocket("udp4").send("x", 53, "10.0.0.1", (error) => resolve(error.code)))`,
    );
    assert.equal(code, "ENOTSUP");
  });

  it("a V8 flag cannot be set", async () => {
    const code = 'try { require("v8").setFlagsFromString("--expose-gc"); } catch (error) { return error.code; }';
    assert.equal(await net.guest.value(code), "ENOTSUP");
  });
});
