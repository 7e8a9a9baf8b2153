import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { it, type TestContext } from "node:test";

import { Problem } from "../../src/errors.ts";
import { Bodies, type MemoryOwner, type HeldBody } from "../../src/http/bodies.ts";
import { endAnswer, expectBody } from "../../src/http/read-body.ts";
import { type Exchange, listening } from "./listening.ts";

const LIMIT_BYTES = 1_000;
const tooLarge = (): Problem => new Problem("code_too_large", "too long");
const ALICE = { name: "alice", isPublic: false };
const BOB = { name: "bob", isPublic: false };
const STRANGER = { name: "192.0.2.1", isPublic: true };

/** A server whose bodies are read, with as many connections to it as a test makes. */
async function reading(
  t: TestContext,
  given?: Bodies,
): Promise<{ bodies: Bodies; send: (head: string, owner?: MemoryOwner) => Promise<Sent> }> {
  const bodies = given ?? new Bodies();
  t.after(() => bodies.close());
  const exchanges: ((exchange: Exchange) => void)[] = [];
  const port = await listening(t, {
    request: (...exchange) => exchanges.shift()!(exchange),
    checkContinue: (request, response) => {
      expectBody(response);
      exchanges.shift()!([request, response]);
    },
  });
  const send = async (head: string, owner: MemoryOwner = ALICE): Promise<Sent> => {
    const { promise, resolve } = Promise.withResolvers<Exchange>();
    exchanges.push(resolve);
    const client = connect(port, "127.0.0.1");
    t.after(() => client.destroy());
    let said = "";
    client.setEncoding("latin1").on("data", (text: string) => (said += text));
    client.write(`POST / HTTP/1.1\r\n${head}\r\n\r\n`);
    const exchange = await promise;
    const body = bodies.read(...exchange, { limitBytes: LIMIT_BYTES, tooLarge, owner });
    body.catch(() => {});
    return { client, exchange, body, said: () => said };
  };
  return { bodies, send };
}

interface Sent {
  readonly client: Socket;
  readonly exchange: Exchange;
  readonly body: Promise<HeldBody>;
  readonly said: () => string;
}

/** Waits until so many bytes of a body were read. */
async function arrived({ exchange: [request] }: Sent, bytes: number): Promise<void> {
  for (let read = 0; read < bytes;) read += ((await once(request, "data")) as [Buffer])[0].length;
}

it("a body is read whole, however it is cut, up to the last byte of its limit", async (t) => {
  const { send } = await reading(t);
  const parts = await send(`Content-Length: ${LIMIT_BYTES}`);
  parts.client.write("x".repeat(400));
  parts.client.write("x".repeat(600));
  assert.equal((await parts.body).bytes.length, LIMIT_BYTES);
  const chunked = await send("Transfer-Encoding: chunked");
  for (const part of ["1\r\na\r\n", "2\r\nbc\r\n", "0\r\n\r\n"]) chunked.client.write(part);
  assert.equal((await chunked.body).bytes.toString(), "abc");
  const empty = await send("Transfer-Encoding: chunked");
  empty.client.write("0\r\n\r\n");
  assert.equal((await empty.body).bytes.length, 0);
});

it("a body that announces more than its limit is refused before a byte of it has come", async (t) => {
  const { send } = await reading(t);
  await assert.rejects((await send(`Content-Length: ${LIMIT_BYTES + 1}`)).body, { code: "code_too_large" });
});

it("a body without a length is refused at the first byte beyond its limit, before it has ended", async (t) => {
  const { send } = await reading(t);
  const { client, body } = await send("Transfer-Encoding: chunked");
  client.write(`3e9\r\n${"x".repeat(LIMIT_BYTES + 1)}\r\n`);
  await assert.rejects(body, { code: "code_too_large" });
});

it("a body that breaks off is the caller's fault, and is not taken for whole", async (t) => {
  const { send } = await reading(t);
  for (const [head, part] of [
    ["Content-Length: 100", "only this"],
    ["Transfer-Encoding: chunked", "9\r\nonly this\r\n"],
  ] as const) {
    const sent = await send(head);
    sent.client.write(part);
    await arrived(sent, 9);
    sent.client.destroy();
    await assert.rejects(sent.body, { code: "request_invalid", message: /broke off/ });
  }
});

it("a body whose chunks are malformed is the caller's fault", async (t) => {
  const { send } = await reading(t);
  const { client, body } = await send("Transfer-Encoding: chunked");
  client.write("3\r\nabc\r\nzz\r\n");
  await assert.rejects(body, { code: "request_invalid" });
});

it("a client that asks whether its body is wanted is told to go on when the body is read", async (t) => {
  const { send } = await reading(t);
  const { client, body, exchange, said } = await send("Expect: 100-continue\r\nContent-Length: 4");
  while (!said().includes("100 Continue")) await once(client, "data");
  client.write("code");
  assert.equal((await body).bytes.toString(), "code");
  endAnswer(exchange[1], "done");
  while (!said().includes("done")) await once(client, "data");
  // It is known where the next request begins: the connection may go on.
  assert.doesNotMatch(said(), /connection: close/i);
});

it("a client that asks whether a body is wanted that is too long is answered instead, and the connection ends", async (t) => {
  const { send } = await reading(t);
  const { client, body, exchange, said } = await send(`Expect: 100-continue\r\nContent-Length: ${LIMIT_BYTES + 1}`);
  await assert.rejects(body, { code: "code_too_large" });
  endAnswer(exchange[1], "no");
  await once(client, "end");
  assert.doesNotMatch(said(), /100 Continue/);
  assert.match(said(), /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n/i);
});

it("the owner of the most unfinished bodies loses its oldest; a neighbour's body is read", async (t) => {
  const { send } = await reading(t, new Bodies(1_000, 500));
  const unfinished: Sent[] = [];
  for (let index = 0; index < 2; index++) {
    const sent = await send("Content-Length: 600");
    sent.client.write("x".repeat(400));
    await arrived(sent, 400);
    unfinished.push(sent);
  }
  const neighbour = await send("Content-Length: 300", BOB);
  neighbour.client.write("y".repeat(300));
  assert.equal((await neighbour.body).bytes.length, 300);
  await assert.rejects(unfinished[0]!.body, { code: "overloaded" });
  assert.equal(await Promise.race([unfinished[1]!.body, Promise.resolve("under way")]), "under way");
});

it("bodies that wait for their runs count on, and are not cut", async (t) => {
  const { send } = await reading(t, new Bodies(1_000, 500));
  const waiting = await send("Content-Length: 900");
  waiting.client.write("x".repeat(900));
  const { release } = await waiting.body;
  const refused = await send("Content-Length: 200", BOB);
  refused.client.write("y".repeat(200));
  await assert.rejects(refused.body, { code: "overloaded" });
  release();
  const read = await send("Content-Length: 200", BOB);
  read.client.write("y".repeat(200));
  assert.equal((await read.body).bytes.length, 200);
});

it("clients without a token have a small share, by their networks, and never that of a token", async (t) => {
  const { send } = await reading(t, new Bodies(1_000, 500));
  const stranger = await send("Content-Length: 600", STRANGER);
  stranger.client.write("x".repeat(400));
  await arrived(stranger, 400);
  const other = await send("Content-Length: 200", { name: "192.0.2.2", isPublic: true });
  other.client.write("y".repeat(200));
  assert.equal((await other.body).bytes.length, 200);
  await assert.rejects(stranger.body, { code: "overloaded" });
});

it("a body that comes too slowly is refused; one that comes steadily is not, however long it takes", async (t) => {
  const { bodies, send } = await reading(t);
  const start = performance.now();
  const slow = await send("Content-Length: 1000");
  const steady = await send("Content-Length: 1000", BOB);
  steady.client.write("x".repeat(999));
  await arrived(steady, 999);
  bodies.refuseSlow(start + 14_000);
  bodies.refuseSlow(start + 15_200);
  await assert.rejects(slow.body, { code: "request_invalid", status: 408 });
  steady.client.write("x");
  assert.equal((await steady.body).bytes.length, 1_000);
});
