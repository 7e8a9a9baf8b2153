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

/** Starts a server that reads bodies. Each call of `send` opens a new connection to it. */
async function readingServer(
  t: TestContext,
  bodies: Bodies = new Bodies(),
): Promise<{ bodies: Bodies; send: (head: string, owner?: MemoryOwner) => Promise<SentRequest> }> {
  t.after(() => bodies.close());
  const exchanges: ((exchange: Exchange) => void)[] = [];
  const port = await listening(t, {
    request: (...exchange) => exchanges.shift()!(exchange),
    checkContinue: (request, response) => {
      expectBody(response);
      exchanges.shift()!([request, response]);
    },
  });
  const send = async (head: string, owner: MemoryOwner = ALICE): Promise<SentRequest> => {
    const { promise, resolve } = Promise.withResolvers<Exchange>();
    exchanges.push(resolve);
    const client = connect(port, "127.0.0.1");
    t.after(() => client.destroy());
    let received = "";
    client.setEncoding("latin1").on("data", (text: string) => (received += text));
    client.write(`POST / HTTP/1.1\r\n${head}\r\n\r\n`);
    const exchange = await promise;
    const body = bodies.read(...exchange, { limitBytes: LIMIT_BYTES, tooLarge, owner });
    body.catch(() => {});
    return { client, exchange, body, received: () => received };
  };
  return { bodies, send };
}

interface SentRequest {
  readonly client: Socket;
  readonly exchange: Exchange;
  readonly body: Promise<HeldBody>;
  /** Returns the text that the client has received. */
  readonly received: () => string;
}

/** Waits until the server has read this number of bytes of a body. */
async function arrived({ exchange: [request] }: SentRequest, bytes: number): Promise<void> {
  for (let read = 0; read < bytes;) read += ((await once(request, "data")) as [Buffer])[0].length;
}

it("a body up to its limit is read completely, however it is split", async (t) => {
  const { send } = await readingServer(t);
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

it("a body whose Content-Length exceeds the limit is refused before any byte of it arrives", async (t) => {
  const { send } = await readingServer(t);
  await assert.rejects((await send(`Content-Length: ${LIMIT_BYTES + 1}`)).body, { code: "code_too_large" });
});

it("a body without a length is refused at the first byte beyond the limit, before it ends", async (t) => {
  const { bodies, send } = await readingServer(t);
  const { client, body } = await send("Transfer-Encoding: chunked");
  client.write(`3e9\r\n${"x".repeat(LIMIT_BYTES + 1)}\r\n`);
  await assert.rejects(body, { code: "code_too_large" });
  assert.equal(bodies.bytes, 0);
});

it("a body that breaks off is the caller's fault, and is not treated as complete", async (t) => {
  const { bodies, send } = await readingServer(t);
  for (const [head, part] of [
    ["Content-Length: 100", "only this"],
    ["Transfer-Encoding: chunked", "9\r\nonly this\r\n"],
  ] as const) {
    const sent = await send(head);
    sent.client.write(part);
    await arrived(sent, 9);
    sent.client.destroy();
    await assert.rejects(sent.body, { code: "request_invalid", message: /broke off/ });
    assert.equal(bodies.bytes, 0);
  }
});

it("a body whose chunks are malformed is the caller's fault", async (t) => {
  const { send } = await readingServer(t);
  const { client, body } = await send("Transfer-Encoding: chunked");
  client.write("3\r\nabc\r\nzz\r\n");
  await assert.rejects(body, { code: "request_invalid" });
});

it("a client that sends Expect receives 100 Continue when the body is read", async (t) => {
  const { send } = await readingServer(t);
  const { client, body, exchange, received } = await send("Expect: 100-continue\r\nContent-Length: 4");
  while (!received().includes("100 Continue")) await once(client, "data");
  client.write("code");
  assert.equal((await body).bytes.toString(), "code");
  endAnswer(exchange[1], "done");
  while (!received().includes("done")) await once(client, "data");
  // The start of the next request is certain, so the connection may stay open.
  assert.doesNotMatch(received(), /connection: close/i);
});

it("a client that sends Expect for a body beyond the limit receives the answer, and the connection ends", async (t) => {
  const { send } = await readingServer(t);
  const { client, body, exchange, received } = await send(`Expect: 100-continue\r\nContent-Length: ${LIMIT_BYTES + 1}`);
  await assert.rejects(body, { code: "code_too_large" });
  endAnswer(exchange[1], "no");
  await once(client, "end");
  assert.doesNotMatch(received(), /100 Continue/);
  assert.match(received(), /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n/i);
});

it("if the memory is full, its largest owner loses the oldest unfinished body, and other owners lose nothing", async (t) => {
  const { send } = await readingServer(t, new Bodies(1_000, 500));
  const unfinished: SentRequest[] = [];
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
  assert.equal(await Promise.race([unfinished[1]!.body, Promise.resolve("pending")]), "pending");
});

it("bodies that wait for their runs still count, and are not cut", async (t) => {
  const { bodies, send } = await readingServer(t, new Bodies(1_000, 500));
  const waiting = await send("Content-Length: 900");
  waiting.client.write("x".repeat(900));
  const { release } = await waiting.body;
  const refused = await send("Content-Length: 200", BOB);
  refused.client.write("y".repeat(200));
  await assert.rejects(refused.body, { code: "overloaded" });
  assert.equal(bodies.bytes, 900);
  release();
  assert.equal(bodies.bytes, 0);
  const read = await send("Content-Length: 200", BOB);
  read.client.write("y".repeat(200));
  assert.equal((await read.body).bytes.length, 200);
});

it("clients without a token share a smaller memory by network, and cannot use up the memory of tokens", async (t) => {
  const { send } = await readingServer(t, new Bodies(1_000, 500));
  const stranger = await send("Content-Length: 600", STRANGER);
  stranger.client.write("x".repeat(400));
  await arrived(stranger, 400);
  const other = await send("Content-Length: 200", { name: "192.0.2.2", isPublic: true });
  other.client.write("y".repeat(200));
  assert.equal((await other.body).bytes.length, 200);
  await assert.rejects(stranger.body, { code: "overloaded" });
});

it("a body that arrives too slowly is refused, but a steady body may take any time", async (t) => {
  const { bodies, send } = await readingServer(t);
  const start = performance.now();
  const slow = await send("Content-Length: 1000");
  const steady = await send("Content-Length: 1000", BOB);
  steady.client.write("x".repeat(999));
  await arrived(steady, 999);
  bodies.refuseSlow(start + 14_000);
  bodies.refuseSlow(start + 15_200);
  await assert.rejects(slow.body, { code: "request_invalid", status: 408 });
  assert.equal(bodies.bytes, 999);
  steady.client.write("x");
  assert.equal((await steady.body).bytes.length, 1_000);
});

/** Sends a request in one piece, and takes its body after Node has parsed the piece. */
async function taken(
  t: TestContext,
  bodies: Bodies,
  request: string,
  owner: MemoryOwner = ALICE,
): Promise<HeldBody | Problem | null> {
  const { promise, resolve } = Promise.withResolvers<HeldBody | Problem | null>();
  const port = await listening(t, {
    request: (message, response) => {
      setImmediate(() => {
        try {
          resolve(bodies.take(message, { limitBytes: LIMIT_BYTES, tooLarge, owner }));
        } catch (error) {
          resolve(error as Problem);
        }
        response.end();
      });
    },
  });
  const client = connect(port, "127.0.0.1");
  t.after(() => client.destroy());
  client.write(`POST / HTTP/1.1\r\nHost: here\r\n${request}`);
  return await promise;
}

function requestOf(length: number): string {
  return `Content-Length: ${length}\r\n\r\n${"x".repeat(length)}`;
}

function codeOf(body: HeldBody | Problem | null): string | null {
  return body instanceof Problem ? body.code : null;
}

it("a body that has arrived with its head is taken at once, up to the limit", async (t) => {
  const bodies = new Bodies();
  t.after(() => bodies.close());
  const most = (await taken(t, bodies, requestOf(LIMIT_BYTES))) as HeldBody;
  assert.equal(most.bytes.toString(), "x".repeat(LIMIT_BYTES));
  assert.equal(codeOf(await taken(t, bodies, requestOf(LIMIT_BYTES + 1))), "code_too_large");
});

it("a body that is chunked or incomplete is not taken, but can still be read", async (t) => {
  const bodies = new Bodies();
  t.after(() => bodies.close());
  assert.equal(await taken(t, bodies, "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"), null);
  assert.equal(await taken(t, bodies, "Content-Length: 3\r\n\r\nab"), null);
});

it("bodies that were taken count until their release, for their owners and in the memory of all", async (t) => {
  const bodies = new Bodies(1_000, 500);
  t.after(() => bodies.close());
  const held = (await taken(t, bodies, requestOf(900))) as HeldBody;
  assert.equal(codeOf(await taken(t, bodies, requestOf(200), BOB)), "overloaded");
  assert.equal(codeOf(await taken(t, bodies, requestOf(200))), "overloaded");
  held.release();
  assert.equal(((await taken(t, bodies, requestOf(200), BOB)) as HeldBody).bytes.length, 200);
  const ofStranger = (await taken(t, bodies, requestOf(400), STRANGER)) as HeldBody;
  assert.equal(codeOf(await taken(t, bodies, requestOf(200), STRANGER)), "overloaded");
  ofStranger.release();
  assert.equal(((await taken(t, bodies, requestOf(200), STRANGER)) as HeldBody).bytes.length, 200);
});

it("a body whose client has left before it is read is refused at once", async (t) => {
  const bodies = new Bodies();
  t.after(() => bodies.close());
  const { promise, resolve } = Promise.withResolvers<Exchange>();
  const port = await listening(t, { request: (...exchange) => resolve(exchange) });
  const client = connect(port, "127.0.0.1");
  client.write("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  const [request, response] = await promise;
  const closed = new Promise((close) => request.once("close", close));
  request.on("error", () => {});
  client.destroy();
  await closed;
  const options = { limitBytes: LIMIT_BYTES, tooLarge, owner: ALICE };
  await assert.rejects(bodies.read(request, response, options), { code: "request_invalid" });
});
