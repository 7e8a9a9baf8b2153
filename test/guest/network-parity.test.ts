import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, describe, it } from "node:test";
import { compileFunction } from "node:vm";

import { listen } from "./internet-servers.ts";
import { echo, type Networked, startNetworked, tcp } from "./networked.ts";

/** The same text runs here with kernel sockets, and in a guest with sockets of the service. The results must be equal. */

const NAMES = ["lookup", "connect", "ready", "data", "end", "finish", "timeout", "error", "close"];

const HELPERS = `
  const net = require("net");
  const host = "127.0.0.1";
  const seen = [];
  const watch = (socket, names = ${JSON.stringify(NAMES)}) => {
    for (const name of names) socket.on(name, (arg) => seen.push(name === "data" ? "data" : arg instanceof Error ? name + " " + arg.code + " " + arg.message : arg === undefined || arg === null ? name : name + " " + arg));
    return socket;
  };
  const state = (socket) => seen.push([socket.connecting, socket.pending, socket.readyState, socket.destroyed, socket.readable, socket.writable, socket.bytesRead, typeof socket.remotePort, socket.remoteAddress ?? null, socket.timeout ?? null]);
  const closed = (socket) => new Promise((resolve) => socket.once("close", () => setImmediate(resolve)));
  const turns = async () => { for (let n = 0; n < 5; n += 1) await new Promise((resolve) => setImmediate(resolve)) };
`;

const SCRIPTS: Record<string, string> = {
  "a conversation": `const s = watch(net.connect(ports.echo, host)); state(s); s.write("ab", () => seen.push("written")); s.end("c", () => seen.push("ended")); await closed(s); state(s); return seen`,
  "a connection that is refused": `const s = watch(net.connect(1, host)); state(s); s.write("x", (error) => seen.push("written " + error.code)); await closed(s); state(s); return seen`,
  "a socket that is destroyed before it is connected": `const s = watch(net.connect(ports.echo, host)); s.write("x", (error) => seen.push("written " + error.code)); s.destroy(); state(s); await closed(s); state(s); return seen`,
  "a socket that is destroyed with an error": `const s = watch(net.connect(ports.echo, host)); await new Promise((resolve) => s.once("connect", resolve)); s.destroy(Object.assign(new Error("mine"), { code: "MINE" })); await closed(s); return seen`,
  "an error and a close that are awaited in turn": `const { once } = require("events"); const s = net.connect(1, host); const [error] = await once(s, "error"); const [had] = await once(s, "close"); return [error.code, had]`,
  "a peer that ends first": `const s = watch(net.connect(ports.hello, host)); await closed(s); state(s); return seen`,
  "a peer that ends first, half open": `const s = watch(net.connect({ port: ports.hello, host, allowHalfOpen: true })); await new Promise((resolve) => s.once("end", resolve)); await turns(); state(s); s.end("bye"); await closed(s); return seen`,
  "a write after the end of the peer": `const s = net.connect(ports.hello, host).resume(); await new Promise((resolve) => s.once("end", resolve)); const ok = s.write("late", (error) => seen.push(error?.code ?? "written")); watch(s, ["error", "close"]); await closed(s); return [...seen, ok]`,
  "a write after the end": `const s = watch(net.connect(ports.echo, host), ["error", "close"]); s.end("x"); s.write("y", (error) => seen.push(error.code)); await closed(s); return seen`,
  "a socket that is read with read()": `const s = net.connect(ports.hello, host); watch(s, ["readable", "end", "close"]); let text = ""; s.on("readable", () => { for (let chunk; (chunk = s.read(2)) !== null; ) text += chunk + "|" }); await closed(s); return [text, seen.filter((name) => name !== "readable")]`,
  "a socket that is paused": `const s = net.connect(ports.hello, host); s.pause(); watch(s, ["end", "close"]); await new Promise((resolve) => s.once("connect", resolve)); await turns(); const before = [...seen]; s.resume(); await closed(s); return [before, seen]`,
  "a socket without a reader": `const s = net.connect(ports.hello, host); watch(s, ["end", "close", "connect"]); await new Promise((resolve) => s.once("connect", resolve)); await turns(); s.destroy(); return seen`,
  "a socket that is corked": `const s = net.connect(ports.echo, host); s.cork(); s.write("a"); s.write("b"); s.uncork(); s.end(); let text = ""; s.on("data", (chunk) => (text += chunk)); await closed(s); return text`,
  "a socket that is piped": `const s = net.connect(ports.echo, host); const { Readable } = require("stream"); Readable.from(["x", "y", "z"].map((text) => Buffer.from(text))).pipe(s); let text = ""; for await (const chunk of s) text += chunk; return text`,
  "the members of a closed socket": `const s = net.connect(ports.echo, host); s.end("12345"); s.resume(); await closed(s); return [s.bytesRead, s.bytesWritten, s.destroyed, s.closed, s.errored, s.readableEnded, s.writableFinished]`,
  "the returned values of the methods": `const s = net.connect(ports.echo, host); const own = [s.ref(), s.unref(), s.setNoDelay(), s.setKeepAlive(true), s.setTimeout(1000), s.setEncoding("utf8"), s.pause(), s.resume(), s.end("x")].map((value) => value === s); await closed(s); return own`,
  "an end before the socket is connected": `const s = watch(net.connect(ports.echo, host)); s.end(); await closed(s); return seen`,
  "a server that resets": `const s = watch(net.connect(ports.reset, host), ["error", "close"]); s.write("x"); await closed(s); return seen`,
  destroySoon: `const s = watch(net.connect(ports.echo, host)); s.write("soon"); s.destroySoon(); await closed(s); return seen.filter((name) => name !== "data" && name !== "end")`,
  "an async iterator that stops": `const s = net.connect(ports.hello, host); for await (const chunk of s) { seen.push(String(chunk)); break } return [...seen, s.destroyed]`,
  "an agent's socket": `const http = require("http"); const agent = new http.Agent({ keepAlive: true }); const request = http.get({ host, port: ports.hello, agent }); return new Promise((resolve) => request.once("error", (error) => resolve([error.code, error.message])))`,
};

describe("a socket of a guest behaves as a kernel socket", () => {
  const servers = {
    echo: echo(),
    hello: tcp((socket) => void socket.resume().end("hello")),
    reset: tcp((socket) => void socket.once("data", () => socket.resetAndDestroy())),
  };
  let net: Networked;
  let prelude: string;

  before(async () => {
    const ports: Record<string, number> = {};
    for (const [name, server] of Object.entries(servers)) ports[name] = await listen(server);
    const byTarget = Object.entries(servers).map(([name, server]) => [`127.0.0.1:${ports[name]!}`, server] as const);
    net = await startNetworked(Object.fromEntries(byTarget));
    net.gateway.add("127.0.0.1:1", {
      message: "connect ECONNREFUSED 127.0.0.1:1",
      code: "ECONNREFUSED",
      errno: -111,
      syscall: "connect",
      address: "127.0.0.1",
      port: 1,
    });
    prelude = `${HELPERS} const ports = ${JSON.stringify(ports)};`;
  });
  after(() => net[Symbol.asyncDispose]());

  for (const [title, code] of Object.entries(SCRIPTS)) {
    it(title, async () => {
      const run = compileFunction(`return (async () => { ${prelude}${code} })()`, ["require"]);
      const expected: unknown = JSON.parse(JSON.stringify(await run(createRequire(import.meta.url))));
      assert.deepEqual(await net.guest.value(prelude + code), expected);
    });
  }
});
