import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";

import { RequestTurns } from "../../src/http/request-turns.ts";

/** Requests that take a time by a hand clock, and the order in which they began. */
function setUp(): {
  send: (network: string, connection: object, name: string, ms?: number) => void;
  /** Sends a piece of bytes with requests in it. */
  sendPiece: (network: string, connection: object, names: readonly string[]) => void;
  begun: string[];
  turns: RequestTurns;
} {
  let nowMs = 0;
  const begun: string[] = [];
  const turns = new RequestTurns(() => nowMs);
  const working = (name: string, ms: number) => (): void => {
    begun.push(name);
    nowMs += ms;
  };
  const send = (network: string, connection: object, name: string, ms = 0): void => {
    turns.begin(connection, () => network, working(name, ms));
  };
  const sendPiece = (network: string, connection: object, names: readonly string[]): void => {
    const parse = (): void => {
      working("parse", 10)();
      for (const name of names) send(network, connection, name, 10);
    };
    turns.parse(connection, () => network, parse);
  };
  return { send, sendPiece, begun, turns };
}

/** Waits until all requests have begun. */
async function end(begun: readonly string[], count: number): Promise<void> {
  for (let turn = 0; begun.length < count; turn++) {
    assert.ok(turn < 10_000, `${begun.length} of ${count} have begun`);
    await setImmediate();
  }
}

describe("requests that arrive in one turn of the event loop", () => {
  it("begin at once if they take little time", () => {
    const { send, begun } = setUp();
    for (let at = 0; at < 100; at++) send("a", {}, String(at), 0.01);
    assert.equal(begun.length, 100);
  });

  it("wait for later turns if earlier ones took long, and a network waits for one request of each other network", async () => {
    const { send, begun } = setUp();
    for (let at = 0; at < 100; at++) send("attacker", {}, "attack", 10);
    assert.equal(begun.length, 1);
    send("other", {}, "other");
    await end(begun, 101);
    assert.ok(begun.indexOf("other") <= 2, begun.slice(0, 5).join());
  });

  it("wait earlier in a turn after a connection was accepted, because the next turn accepts the next connection", async () => {
    const { send, begun, turns } = setUp();
    const burst = (name: string): void => {
      for (let at = 0; at < 30; at++) send("a", {}, `${name}${at}`, 0.1);
    };
    turns.accepted(false);
    burst("a");
    assert.equal(begun.length, 2, "0.2 ms");
    let turn = 0;
    for (; begun.length < 30; turn++) {
      turns.accepted(false);
      await setImmediate();
    }
    assert.ok(turn >= 14, `two requests in a turn: ${turn} turns`);
    burst("b");
    await end(begun, 60);
    await setImmediate();
    await setImmediate();
    const before = begun.length;
    burst("c");
    assert.ok(begun.length - before >= 20, `2 ms without a new connection: ${begun.length - before}`);
  });

  it("begin in every fourth turn that accepts a connection while a long queue of connections waits", async () => {
    const { send, begun, turns } = setUp();
    send("a", {}, "first", 10);
    for (let at = 0; at < 10; at++) send("a", {}, `a${at}`, 10);
    let turn = 0;
    for (; begun.length < 11; turn++) {
      turns.accepted(true);
      await setImmediate();
    }
    assert.ok(turn >= 40 && turn < 60, `${turn} turns`);
  });

  it("wait for one request of each other site, however many IPv6 networks a site has", async () => {
    const { send, begun } = setUp();
    for (let at = 0; at < 100; at++) send(`2001:db8:1:${at}::/64`, {}, "attack", 10);
    for (const other of ["192.0.2.1", "2001:db8:2:1::/64"]) send(other, {}, other);
    await end(begun, 102);
    assert.ok(begun.indexOf("192.0.2.1") <= 2 && begun.indexOf("2001:db8:2:1::/64") <= 4, begun.slice(0, 6).join());
  });

  it("wait for one piece of each other connection of their network, and for the requests in it", async () => {
    const { sendPiece, begun } = setUp();
    const busy = {};
    for (let at = 0; at < 100; at++) sendPiece("a", busy, ["first", "second"]);
    sendPiece("a", {}, ["other"]);
    await end(begun, 302);
    const mostBefore = ["parse", "first", "second", "parse", "first", "second", "parse", "other"].length;
    assert.ok(begun.indexOf("other") <= mostBefore, begun.slice(0, 10).join());
  });

  it("begin before the next piece of their network is parsed, so that few parsed requests wait in memory", async () => {
    const { sendPiece, begun } = setUp();
    for (let at = 0; at < 100; at++) sendPiece("a", {}, ["request", "request"]);
    await end(begun, 300);
    let waiting = 0;
    for (const what of begun) {
      waiting += what === "parse" ? 2 : -1;
      assert.ok(waiting <= 2, begun.slice(0, 10).join());
    }
  });

  it("begin in their order on one connection", async () => {
    const { send, begun } = setUp();
    const connection = {};
    const names = Array.from({ length: 300 }, (_, at) => String(at));
    for (const name of names) send("a", connection, name, 1);
    await end(begun, 300);
    assert.deepEqual(begun, names);
  });

  it("begin many in one turn, so that a burst of small requests does not wait for hundreds of turns", async () => {
    const { send, begun } = setUp();
    send("a", {}, "slow", 10);
    for (let at = 0; at < 500; at++) send("a", {}, String(at), 0.01);
    let turns = 0;
    for (; begun.length < 501; turns++) await setImmediate();
    assert.ok(turns < 50, `${turns} turns`);
  });
});
