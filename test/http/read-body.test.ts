import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { it, type TestContext } from "node:test";

import { Problem } from "../../src/errors.ts";
import { endAnswer, expectBody, hasBody, lingerAtEnd, readBody } from "../../src/http/read-body.ts";
import { type Exchange, listening } from "./listening.ts";

const LIMIT_BYTES = 1_000;
const tooLarge = (): Problem => new Problem("code_too_large", "too long");

/** A server that hands its exchanges over, and a connection to it that is written to by hand. */
async function meet(t: TestContext): Promise<{ client: Socket; exchange: Promise<Exchange>; said: () => string }> {
  const { promise: exchange, resolve } = Promise.withResolvers<Exchange>();
  const port = await listening(t, {
    request: (...given) => resolve(given),
    checkContinue: (request, response) => {
      expectBody(response);
      resolve([request, response]);
    },
  });
  const client = connect(port, "127.0.0.1");
  t.after(() => client.destroy());
  let said = "";
  client.setEncoding("latin1").on("data", (text: string) => (said += text));
  return { client, exchange, said: () => said };
}

/** Waits until the client has read something that matches. */
async function heard(client: Socket, said: () => string, pattern: RegExp): Promise<void> {
  while (!pattern.test(said())) {
    if (client.readableEnded) assert.fail(`the connection ended after ${JSON.stringify(said())}`);
    await Promise.race([once(client, "data"), once(client, "end")]);
  }
}

async function bodyOf(t: TestContext, head: string, ...parts: readonly string[]): Promise<Buffer> {
  const { client, exchange } = await meet(t);
  client.write(`POST / HTTP/1.1\r\n${head}\r\n\r\n`);
  const [request, response] = await exchange;
  const body = readBody(request, response, LIMIT_BYTES, tooLarge);
  for (const part of parts) client.write(part);
  return body;
}

it("a body is announced by its length or by a transfer encoding", async (t) => {
  const announced = async (...headers: readonly string[]): Promise<boolean> => {
    const { client, exchange } = await meet(t);
    client.write(["POST / HTTP/1.1", ...headers, "", ""].join("\r\n"));
    return hasBody((await exchange)[0]);
  };
  assert.equal(await announced("Content-Length: 1"), true);
  assert.equal(await announced("Transfer-Encoding: chunked"), true);
  assert.equal(await announced("Content-Length: 0"), false);
  assert.equal(await announced(), false);
});

it("a body is read whole, however it is cut, up to the last byte of its limit", async (t) => {
  const full = "x".repeat(LIMIT_BYTES);
  assert.equal((await bodyOf(t, `Content-Length: ${LIMIT_BYTES}`, full.slice(0, 400), full.slice(400))).length, 1_000);
  const chunked = await bodyOf(t, "Transfer-Encoding: chunked", "1\r\na\r\n", "2\r\nbc\r\n", "0\r\n\r\n");
  assert.equal(chunked.toString(), "abc");
  assert.equal((await bodyOf(t, "Transfer-Encoding: chunked", "0\r\n\r\n")).length, 0);
});

it("a body that announces more than its limit is refused before a byte of it has come", async (t) => {
  await assert.rejects(bodyOf(t, `Content-Length: ${LIMIT_BYTES + 1}`), { code: "code_too_large" });
});

it("a body without a length is refused at the first byte beyond its limit, before it has ended", async (t) => {
  const chunk = `3e9\r\n${"x".repeat(LIMIT_BYTES + 1)}\r\n`;
  await assert.rejects(bodyOf(t, "Transfer-Encoding: chunked", chunk), { code: "code_too_large" });
});

it("a body that breaks off is the caller's fault, and is not taken for whole", async (t) => {
  for (const [head, part] of [
    ["Content-Length: 100", "only this"],
    ["Transfer-Encoding: chunked", "9\r\nonly this\r\n"],
  ] as const) {
    const { client, exchange } = await meet(t);
    client.write(`POST / HTTP/1.1\r\n${head}\r\n\r\n${part}`);
    const [request, response] = await exchange;
    const body = readBody(request, response, LIMIT_BYTES, tooLarge);
    request.once("data", () => client.destroy());
    await assert.rejects(body, { code: "request_invalid", message: /broke off/ });
  }
});

it("a body whose chunks are malformed is the caller's fault", async (t) => {
  await assert.rejects(bodyOf(t, "Transfer-Encoding: chunked", "3\r\nabc\r\n", "zz\r\n"), { code: "request_invalid" });
});

it("a client that asks whether its body is wanted is told to go on when somebody reads it, and not before", async (t) => {
  const { client, exchange, said } = await meet(t);
  client.write("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  const [request, response] = await exchange;
  assert.equal(said(), "");
  const body = readBody(request, response, LIMIT_BYTES, tooLarge);
  await heard(client, said, /^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  client.write("code");
  assert.equal((await body).toString(), "code");
  endAnswer(response, "done");
  await heard(client, said, /done/);
  // It is known where the next request begins: the connection may go on.
  assert.doesNotMatch(said(), /connection: close/i);
});

it("a client that asks whether a body is wanted that is too long is answered instead, and the connection ends", async (t) => {
  const { client, exchange, said } = await meet(t);
  client.write(`POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: ${LIMIT_BYTES + 1}\r\n\r\n`);
  const [request, response] = await exchange;
  await assert.rejects(readBody(request, response, LIMIT_BYTES, tooLarge), { code: "code_too_large" });
  endAnswer(response, "no");
  await once(client, "end");
  assert.doesNotMatch(said(), /100 Continue/);
  assert.match(said(), /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n/i);
  assert.match(said(), /no/);
});

const END = { endAnswer, lingerAtEnd: endLater };

function endLater(response: Exchange[1], body: string): void {
  lingerAtEnd(response);
  response.end(body);
}

for (const [how, end] of Object.entries(END)) {
  it(`an answer reaches a client that is still sending, and the connection is not reset: ${how}`, async (t) => {
    const { client, exchange, said } = await meet(t);
    const errors: Error[] = [];
    client.on("error", (error) => errors.push(error));
    const half = Buffer.alloc(4 * 2 ** 20, "x");
    client.write(`POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: ${2 * half.length}\r\n\r\n`);
    const [, response] = await exchange;
    response.writeHead(400, { "Content-Length": 7 });
    end(response, "refused");
    // The whole answer comes while the body has not; then there is somebody who takes the rest.
    await heard(client, said, /refused$/);
    client.write(half);
    client.write(half);
    await once(client, "end");
    assert.deepEqual(errors, []);
    assert.match(said(), /^HTTP\/1\.1 400 /);
  });

  it(`the next request on the connection is served once an unwanted body has run out: ${how}`, async (t) => {
    const seen: string[] = [];
    const port = await listening(t, {
      request: (request, response) => {
        seen.push(request.url!);
        end(response, request.url!);
      },
    });
    const client = connect(port, "127.0.0.1");
    t.after(() => client.destroy());
    let said = "";
    client.setEncoding("latin1").on("data", (text: string) => (said += text));
    client.write("POST /first HTTP/1.1\r\nContent-Length: 9\r\n\r\nGET /");
    await heard(client, () => said, /\/first/);
    client.write("evil");
    client.write("GET /second HTTP/1.1\r\nConnection: close\r\n\r\n");
    await once(client, "end");
    assert.deepEqual(seen, ["/first", "/second"]);
    assert.match(said, /\/second/);
  });

  it(`an answer to a request that came whole ends at once: ${how}`, async (t) => {
    const { client, exchange, said } = await meet(t);
    client.write("POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab");
    const [request, response] = await exchange;
    await readBody(request, response, LIMIT_BYTES, tooLarge);
    end(response, "taken");
    await once(client, "end");
    assert.match(said(), /taken/);
  });
}
