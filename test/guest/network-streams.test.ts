import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { bytesFrame, textFrame } from "../../src/wire/frames.ts";
import { TO_GUEST, WINDOW_BYTES } from "../../src/wire/messages.ts";
import { until } from "../contract/until.ts";
import { echo, type Networked, SOCKET_HELPERS, startNetworked, tcp } from "./networked.ts";

const MIB = 2 ** 20;

describe("streams of a guest", () => {
  let net: Networked;
  const value = (code: string): Promise<unknown> => net.guest.value(SOCKET_HELPERS + code);

  before(async () => {
    net = await startNetworked({
      "echo.test:7": echo(),
      "silent.test:80": tcp((socket) => void socket.once("end", () => socket.end("bye")).resume()),
      "count.test:80": tcp((socket) => {
        let bytes = 0;
        socket.on("data", (chunk) => (bytes += chunk.length)).once("end", () => socket.end(String(bytes)));
      }),
      "flood.test:80": tcp((socket) => {
        const piece = Buffer.alloc(65_536, "x");
        let left = 160;
        const more = (): void => {
          while (left-- > 0) if (!socket.write(piece)) return void socket.once("drain", more);
          socket.end();
        };
        more();
      }),
    });
  });
  after(() => net[Symbol.asyncDispose]());

  it("a large body is sent within the windows, and waits when the service grants no more", async () => {
    net.gateway.minCredit = WINDOW_BYTES;
    net.gateway.withholdGrants();
    const { outcome } = net.guest.start(
      net.guest.code(`${SOCKET_HELPERS}
        const s = net.connect({ port: 80, host: "count.test", allowHalfOpen: true });
        await once(s, "connect");
        let written = 0;
        const piece = Buffer.alloc(${MIB}, "y");
        for (let n = 0; n < 8; n++) s.write(piece, () => (written += 1));
        s.write("odd");
        const mustWait = s.writableNeedDrain;
        setImmediate(() => console.log("waiting", written, mustWait));
        s.end();
        return textOf(s);
      `),
    );
    await until(() => net.guest.logs.at(-1)?.text === "waiting 0 true", "the guest has written");
    net.gateway.resumeGrants();
    assert.equal((await outcome).result, JSON.stringify(String(8 * MIB + 3)));
    assert.ok(net.gateway.minCredit >= 0, `the guest has sent ${-net.gateway.minCredit} bytes too many`);
  });

  it("a slow reader makes the peer wait, and receives everything in the end", async () => {
    const { outcome } = net.guest.start(
      net.guest.code(`${SOCKET_HELPERS}
        const s = net.connect(80, "flood.test");
        await once(s, "readable");
        globalThis.resumeReading = () => {
          let bytes = 0;
          s.on("data", (chunk) => (bytes += chunk.length));
          return once(s, "close").then(() => [bytes, s.bytesRead]);
        };
        globalThis.held = () => s.readableLength;
        console.log("ready");
        return 1;
      `),
    );
    await outcome;
    for (let last = -1, now = 0; now !== last;) {
      last = now;
      now = (await net.guest.value("held()")) as number;
      assert.ok(now <= WINDOW_BYTES, `${now} bytes are buffered`);
    }
    assert.deepEqual(await net.guest.value("resumeReading()"), [160 * 65_536, 160 * 65_536]);
  });

  it("a destroyed socket closes its stream, and frames for an unknown stream are ignored", async () => {
    await value(
      `const s = net.connect(80, "silent.test"); await once(s, "connect"); s.destroy(); return once(s, "close")`,
    );
    await net.guest.ping();
    assert.equal(net.gateway.streams.has(net.gateway.opens.at(-1)!.id), false);
    for (const id of [net.gateway.opens.at(-1)!.id, 9_999_999]) {
      net.guest.send(bytesFrame(TO_GUEST.received, id, Buffer.from("late")));
      net.guest.send(bytesFrame(TO_GUEST.sendMore, id, Buffer.alloc(4)));
      net.guest.send(bytesFrame(TO_GUEST.peerEnded, id));
      net.guest.send(textFrame(TO_GUEST.peerReset, id, '{"message":"x","code":"X"}'));
      net.guest.send(textFrame(TO_GUEST.answer, id, '{"addresses":[]}'));
    }
    assert.equal(await net.guest.value("1"), 1);
  });

  it("a listener that throws fails its run, and other runs still receive their frames", async () => {
    const bystander = net.guest.start(
      net.guest.code(
        `${SOCKET_HELPERS} const s = net.connect(7, "echo.test"); s.write("x"); await once(s, "data"); globalThis.go = () => s.end("y"); console.log("ready"); return textOf(s)`,
      ),
    );
    await until(() => net.guest.logs.some(({ text }) => text === "ready"), "the bystander is connected");
    const fault = await net.guest.fault(`
      const s = require("net").connect(7, "echo.test");
      s.on("data", () => { throw new Error("in a listener") });
      s.write("boo");
      return new Promise(() => {});
    `);
    assert.match(fault.detail, /in a listener/);
    await net.guest.value("go(), 1");
    assert.equal((await bystander.outcome).result, '"y"');
  });

  it("listeners run in the context of the run that connected", async () => {
    const { id, outcome } = net.guest.start(
      net.guest.code(
        `${SOCKET_HELPERS} const s = net.connect(7, "echo.test"); s.on("data", () => console.log("mine")); s.end("x"); await once(s, "close"); return 1`,
      ),
    );
    await outcome;
    assert.ok(net.guest.logs.some(({ run, text }) => run === id && text === "mine"));
  });

  it("the bytes of a connection share no memory with other frames", async () => {
    assert.deepEqual(
      await value(`
        const s = net.connect(7, "echo.test");
        s.write("small");
        const [chunk] = await once(s, "data");
        s.destroy();
        return [chunk.length, chunk.buffer.byteLength];
      `),
      [5, 5],
    );
  });

  it("a connection that is opened after its run is over names this run, and not one in flight", async () => {
    const left = net.guest.start(
      net.guest.code(`${SOCKET_HELPERS}
      globalThis.later = () => new Promise((resolve) => (globalThis.now = resolve)).then(() => net.connect(7, "echo.test").destroy());
      later();
      return 1;
    `),
    );
    await left.outcome;
    const { outcome } = net.guest.start(
      net.guest.code(
        `now(); await new Promise((resolve) => setImmediate(resolve)); return new Promise((resolve) => setImmediate(resolve))`,
      ),
    );
    await outcome;
    assert.equal(net.gateway.opens.at(-1)!.run, left.id);
  });

  it("a task that replaces methods of prototypes does not break the frames of other runs", async () => {
    await using own = await startNetworked({ "echo.test:7": echo() });
    const bystander = own.guest.start(
      own.guest.code(
        `${SOCKET_HELPERS} const s = net.connect(7, "echo.test"); s.write("x"); await once(s, "data"); globalThis.go = () => s.end("y"); console.log("ready"); return once(s, "data").then(([data]) => String(data))`,
      ),
    );
    await until(() => own.guest.logs.some(({ text }) => text === "ready"), "the bystander is connected");
    await own.guest.value(`
      for (const name of ["copy", "readUInt32LE", "writeUInt32LE", "write", "set", "subarray"]) Buffer.prototype[name] = () => { throw new Error(name) };
      for (const name of ["from", "allocUnsafe", "allocUnsafeSlow", "concat", "byteLength"]) Buffer[name] = () => { throw new Error(name) };
      for (const name of ["get", "set", "has", "delete", "forEach"]) Map.prototype[name] = WeakMap.prototype[name] = () => { throw new Error(name) };
      JSON.parse = JSON.stringify = () => { throw new Error("JSON") };
      Object.assign = Object.defineProperty = () => { throw new Error("Object") };
      require("async_hooks").AsyncResource.prototype.runInAsyncScope = () => { throw new Error("scope") };
      setTimeout(() => go());
      return 1;
    `);
    assert.equal((await bystander.outcome).result, '"y"');
  });
});
