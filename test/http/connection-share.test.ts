import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { it, type TestContext } from "node:test";

import { ConnectionShare } from "../../src/http/connection-share.ts";
import { Proxies } from "../../src/http/proxies.ts";
import { until } from "../contract/until.ts";
import { listening } from "./listening.ts";

interface Shared {
  readonly share: ConnectionShare;
  /** The refusals, as network and reason. */
  readonly refused: [string, string][];
  /** Opens a connection, and waits until the server has admitted it, or closed it. */
  readonly open: (from: string) => Promise<{ socket: Socket; admitted: boolean }>;
}

async function sharing(t: TestContext, most: number, trusted: readonly string[] = []): Promise<Shared> {
  const refused: [string, string][] = [];
  const share = new ConnectionShare(most, new Proxies(trusted, () => {}), (...refusal) => refused.push(refusal));
  let decided: PromiseWithResolvers<boolean> | null = null;
  const port = await listening(t, {
    connection: (socket) => {
      const admitted = share.admits(socket);
      if (!admitted) socket.destroy();
      decided!.resolve(admitted);
    },
  });
  return {
    share,
    refused,
    open: async (localAddress) => {
      decided = Promise.withResolvers<boolean>();
      const socket = connect({ port, host: "127.0.0.1", localAddress });
      socket.on("error", () => {});
      t.after(() => socket.destroy());
      const closed = once(socket, "close");
      const admitted = await decided.promise;
      if (!admitted) await closed;
      return { socket, admitted };
    },
  };
}

it("a network has as many connections as its share, and each other network has its own", async (t) => {
  const { share, refused, open } = await sharing(t, 3);
  const held: Socket[] = [];
  for (let count = 0; count < 3; count++) {
    const { socket, admitted } = await open("127.0.0.1");
    assert.ok(admitted);
    held.push(socket);
  }
  for (let count = 0; count < 5; count++) assert.equal((await open("127.0.0.1")).admitted, false);
  assert.deepEqual(
    refused,
    Array.from({ length: 5 }, () => ["127.0.0.1", "has 3 open, which is its share"]),
  );
  assert.ok((await open("127.0.0.2")).admitted);
  held.pop()!.destroy();
  await until(async () => (await open("127.0.0.1")).admitted, "the closed connection no longer counts");
  assert.equal((await open("127.0.0.1")).admitted, false);
  assert.equal(share.networks, 2);
});

it("a network is forgotten with its last connection", async (t) => {
  const { share, open } = await sharing(t, 2);
  const held = [];
  for (const from of ["127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.1"]) held.push((await open(from)).socket);
  assert.equal(share.networks, 2);
  for (const socket of held) socket.destroy();
  await until(() => share.networks === 0, "both are forgotten");
});

it("a trusted proxy has any number of connections", async (t) => {
  const { share, refused, open } = await sharing(t, 1, ["127.0.0.1/32"]);
  for (let count = 0; count < 10; count++) assert.ok((await open("127.0.0.1")).admitted);
  assert.deepEqual([share.networks, refused], [0, []]);
  assert.ok((await open("127.0.0.2")).admitted);
  assert.equal((await open("127.0.0.2")).admitted, false);
});
