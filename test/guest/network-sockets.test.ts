import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { echo, type Networked, SOCKET_HELPERS, startNetworked, tcp } from "./networked.ts";

describe("sockets of a guest", () => {
  let net: Networked;
  const value = (code: string): Promise<unknown> => net.guest.value(SOCKET_HELPERS + code);

  before(async () => {
    net = await startNetworked({
      "echo.test:7": echo(),
      "hello.test:80": tcp((socket) => socket.end("hello")),
      "silent.test:80": tcp((socket) => void socket.once("end", () => socket.end("bye")).resume()),
      "reset.test:80": tcp((socket) => void socket.once("data", () => socket.resetAndDestroy())),
    });
  });
  after(() => net[Symbol.asyncDispose]());

  it("a socket sends and receives, and its stream names the run that connected", async () => {
    const { id, outcome } = net.guest.start(
      net.guest.code(`${SOCKET_HELPERS} const s = net.connect(7, "echo.test"); s.end("a" + "b"); return textOf(s)`),
    );
    assert.equal((await outcome).result, '"ab"');
    assert.deepEqual(net.gateway.opens.at(-1), {
      host: "echo.test",
      port: 7,
      id: net.gateway.opens.at(-1)!.id,
      run: id,
    });
  });

  it("every form of the connect call goes through the service", async () => {
    for (const connect of [
      'net.connect(7, "echo.test")',
      'net.connect("7", "echo.test", () => {})',
      'net.createConnection({ port: 7, host: "echo.test" })',
      'new net.Socket().connect(7, "echo.test")',
      'new net.Socket().connect({ port: "7", host: "echo.test", noDelay: true, keepAlive: true })',
      'new net.Stream().connect([{ port: 7, host: "echo.test" }, null])',
      '(await import("node:net")).connect(7, "echo.test").setNoDelay().setKeepAlive(true, 1000)',
      'new (class extends net.Socket {})().connect(7, "echo.test")',
    ]) {
      assert.equal(await value(`const s = ${connect}; s.end("x"); return textOf(s)`), "x", connect);
    }
  });

  it("events and members of a socket change as in Node", async () => {
    const observed = await value(`
      const seen = [];
      const s = net.connect(7, "echo.test");
      const state = () => [s.connecting, s.pending, s.readyState, s.destroyed];
      seen.push(state());
      for (const name of ["lookup", "connect", "ready", "end", "close"]) s.on(name, (...args) => seen.push([name, ...(name === "lookup" ? args.slice(3) : args)]));
      s.write("abc");
      const before = s.bytesWritten;
      await once(s, "data");
      seen.push(state());
      const open = [s.remoteAddress, s.remoteFamily, typeof s.remotePort, s.localAddress, s.address().port === s.localPort];
      s.end("de");
      await once(s, "close");
      return { seen, before, after: s.bytesWritten, read: s.bytesRead, open, last: state() };
    `);
    assert.deepEqual(observed, {
      seen: [
        [true, true, "opening", false],
        ["lookup", "echo.test"],
        ["connect"],
        ["ready"],
        [false, false, "open", false],
        ["end"],
        ["close", false],
      ],
      before: 3,
      after: 5,
      read: 5,
      open: ["127.0.0.1", "IPv4", "number", "127.0.0.1", true],
      last: [false, true, "closed", true],
    });
  });

  it("a socket that has ended can still receive, and a socket whose peer ends is ended unless it allows half-open", async () => {
    assert.equal(await value(`const s = net.connect(80, "silent.test"); s.end("x"); return textOf(s)`), "bye");
    assert.deepEqual(
      await value(`
        const s = net.connect({ port: 80, host: "hello.test", allowHalfOpen: true }).resume();
        await once(s, "end");
        const open = [s.writable, s.destroyed];
        s.end("late");
        await once(s, "close");
        return open;
      `),
      [true, false],
    );
    assert.deepEqual(
      await value(`const s = net.connect(80, "hello.test").resume(); await once(s, "close"); return [s.writableEnded]`),
      [true],
    );
  });

  it("a refusal of the service is an error of the socket with the reason", async () => {
    assert.deepEqual(await value(`return failure(net.connect(80, "denied.test"))`), {
      message: 'connect to "denied.test" port 80 is not allowed',
      code: "EGRESS_DENIED",
    });
  });

  it("an error of a connection has Node's code", async () => {
    const refused = {
      message: "connect ECONNREFUSED 10.0.0.9:80",
      code: "ECONNREFUSED",
      errno: -111,
      syscall: "connect",
      address: "10.0.0.9",
      port: 80,
    };
    net.gateway.add("10.0.0.9:80", refused);
    assert.deepEqual(await value(`return failure(net.connect(80, "10.0.0.9"))`), refused);
    assert.deepEqual(
      await value(`
        const s = net.connect(80, "10.0.0.9");
        const written = new Promise((resolve) => s.write("x", resolve));
        const [error] = await once(s, "error");
        const [hadError] = await once(s, "close");
        return [error.code, (await written).code, hadError, s.destroyed];
      `),
      ["ECONNREFUSED", "ERR_SOCKET_CLOSED_BEFORE_CONNECTION", true, true],
    );
    assert.deepEqual(
      await value(
        `const s = net.connect(80, "reset.test"); s.write("x"); const { code, syscall } = await failure(s); return [code, syscall]`,
      ),
      ["ECONNRESET", "read"],
    );
  });

  it("a wrong argument throws Node's error", async () => {
    for (const [call, code] of [
      ['net.connect(70000, "echo.test")', "ERR_SOCKET_BAD_PORT"],
      ['net.connect({ port: "x", host: "echo.test" })', "ERR_SOCKET_BAD_PORT"],
      ["net.connect({})", "ERR_MISSING_ARGS"],
      ["net.connect({ port: 1, host: {} })", "ERR_INVALID_ARG_TYPE"],
    ] as const) {
      assert.equal(await value(`try { ${call} } catch (error) { return error.code }`), code, call);
    }
  });

  it("a host that is too long for a name is not found, and the service is not asked", async () => {
    const count = net.gateway.opens.length;
    assert.deepEqual(
      await value(`
        const long = await failure(net.connect(80, "x".repeat(100_000)));
        const looked = await require("dns").promises.lookup("x".repeat(100_000)).catch((error) => error);
        return [long.code, looked.code];
      `),
      ["ENOTFOUND", "ENOTFOUND"],
    );
    assert.equal(net.gateway.opens.length, count);
  });

  it("an idle socket emits timeout, and an aborted socket is destroyed", async () => {
    assert.deepEqual(
      await value(`
        const s = net.connect({ port: 80, host: "silent.test", timeout: 20 });
        await once(s, "timeout");
        const open = !s.destroyed;
        s.destroy();
        await once(s, "close");
        return open;
      `),
      true,
    );
    assert.equal(
      await value(`
        const abort = new AbortController();
        const s = net.connect({ port: 80, host: "silent.test", signal: abort.signal });
        once(s, "connect").then(() => abort.abort());
        return (await failure(s)).code;
      `),
      "ABORT_ERR",
    );
  });

  it("a connection to an address in the socket's block list fails", async () => {
    const code = await value(`
      const blockList = new net.BlockList();
      blockList.addAddress("127.0.0.1");
      return (await failure(net.connect({ port: 7, host: "echo.test", blockList }))).code;
    `);
    assert.equal(code, "ERR_IP_BLOCKED");
  });

  it("a socket can be used again after it was closed", async () => {
    assert.deepEqual(
      await value(`
        const s = net.connect(7, "echo.test");
        s.end("first");
        const first = String((await once(s, "data"))[0]);
        await once(s, "close");
        s.connect(7, "echo.test");
        s.end("again");
        return [first, String((await once(s, "data"))[0]), s.bytesRead];
      `),
      ["first", "again", 5],
    );
    assert.equal(
      await value(
        `const s = net.connect(7, "echo.test"); await once(s, "connect"); s.connect(7, "echo.test"); return (await failure(s)).code`,
      ),
      "EISCONN",
    );
  });

  it("the onread option copies bytes to a buffer of the task", async () => {
    assert.deepEqual(
      await value(`
        const got = [];
        const s = net.connect({ port: 7, host: "echo.test", onread: { buffer: Buffer.alloc(4), callback: (size, buffer) => { got.push(String(buffer.subarray(0, size))); return true; } } });
        s.end("abcdefghij");
        await once(s, "close");
        return got;
      `),
      ["abcd", "efgh", "ij"],
    );
  });

  it("strings are written in their encoding, and many small writes stay in order", async () => {
    assert.equal(
      await value(`
        const s = net.connect(7, "echo.test");
        s.write("6869", "hex"); s.write("é", "latin1"); s.setEncoding("latin1");
        for (let n = 0; n < 300; n++) s.write(String(n % 10));
        s.end();
        return textOf(s);
      `),
      `hi\u00e9${Array.from({ length: 300 }, (_, n) => n % 10).join("")}`,
    );
  });
});
