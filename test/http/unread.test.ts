import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { it, type TestContext } from "node:test";

import { Pipelining } from "../../src/http/pipelining.ts";
import { RequestShare } from "../../src/http/request-share.ts";
import { holdUnread, holdWrites } from "../../src/http/unread.ts";
import { until } from "../contract/until.ts";
import { listening } from "./listening.ts";

/** The size of an answer: too small to be counted unless the answer waits for others. */
const BYTES = 60_000;
/** The answers that wait on each connection for the first answer, which is never sent. */
const WAITING = 31;
/** The answers of 100 connections take 186 MB. The answers of 150 connections exceed the memory of unread answers. */
const SOME = 100;
const TOO_MANY = 150;

type Hold = (response: ServerResponse) => void;
const HOLDS: readonly [string, Hold][] = [
  ["a run", (response) => holdUnread(response, "greedy", BYTES)],
  [
    "the API",
    (response) => {
      holdWrites(response, () => "greedy");
      response.write(Buffer.allocUnsafe(BYTES));
    },
  ],
];

/** Opens connections with pipelined requests. The first request of each connection is never answered. */
async function pipelined(t: TestContext, hold: Hold, connections: number): Promise<Socket[]> {
  let answers = 0;
  const firsts = new WeakSet<Socket>();
  const pipelining = new Pipelining(new RequestShare(Infinity));
  const port = await listening(t, {
    connection: (socket) => pipelining.attach(socket),
    request: (request, response) => {
      pipelining.admits(request, response, "network");
      answers++;
      if (firsts.has(request.socket)) hold(response);
      else firsts.add(request.socket);
    },
  });
  const clients = Array.from({ length: connections }, () => {
    const client = connect(port, "127.0.0.1").on("error", () => {});
    client.resume().write("GET / HTTP/1.1\r\n\r\n".repeat(WAITING + 1));
    t.after(() => client.destroy());
    return client;
  });
  await until(() => answers === connections * (WAITING + 1), "all requests have arrived");
  return clients;
}

for (const [what, hold] of HOLDS) {
  it(`answers of ${what} that wait for earlier answers of their connection are counted, however small`, async (t) => {
    const clients = await pipelined(t, hold, TOO_MANY);
    await until(() => clients.some(({ closed }) => closed), "a connection is cut");
    assert.ok(clients.filter(({ closed }) => closed).length < TOO_MANY / 2);
    await Promise.all(clients.filter(({ closed }) => !closed).map((client) => once(client.destroy(), "close")));
  });

  it(`the memory of waiting answers of ${what} is released when their connection closes`, async (t) => {
    let closed = 0;
    const holdAndCount: Hold = (response) => {
      hold(response);
      response.once("close", () => closed++);
    };
    for (const client of await pipelined(t, holdAndCount, SOME)) client.destroy();
    await until(() => closed === SOME * WAITING, "all answers are closed");
    const others = await pipelined(t, hold, SOME);
    assert.equal(others.filter((client) => client.closed).length, 0);
    await Promise.all(others.map((client) => once(client.destroy(), "close")));
  });
}
