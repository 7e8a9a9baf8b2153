import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { it, type TestContext } from "node:test";

import { Problem } from "../../src/errors.ts";
import { Bodies } from "../../src/http/bodies.ts";
import { endAnswer, expectBody, hasBody, lingerAtEnd } from "../../src/http/read-body.ts";
import { type Exchange, listening } from "./listening.ts";

/** Starts a server and opens a raw connection. Returns the first exchange, and the text that the client received. */
async function open(t: TestContext): Promise<{ client: Socket; exchange: Promise<Exchange>; received: () => string }> {
  const { promise: exchange, resolve } = Promise.withResolvers<Exchange>();
  const port = await listening(t, {
    request: (...args) => resolve(args),
    checkContinue: (request, response) => {
      expectBody(response);
      resolve([request, response]);
    },
  });
  const client = connect(port, "127.0.0.1");
  t.after(() => client.destroy());
  let received = "";
  client.setEncoding("latin1").on("data", (text: string) => (received += text));
  return { client, exchange, received: () => received };
}

/** Waits until the text that the client has received matches the pattern. */
async function receive(client: Socket, received: () => string, pattern: RegExp): Promise<void> {
  while (!pattern.test(received())) {
    if (client.readableEnded) assert.fail(`the connection ended after ${JSON.stringify(received())}`);
    await Promise.race([once(client, "data"), once(client, "end")]);
  }
}

it("a body is announced by its length or by a transfer encoding", async (t) => {
  const announced = async (...headers: readonly string[]): Promise<boolean> => {
    const { client, exchange } = await open(t);
    client.write(["POST / HTTP/1.1", ...headers, "", ""].join("\r\n"));
    return hasBody((await exchange)[0]);
  };
  assert.equal(await announced("Content-Length: 1"), true);
  assert.equal(await announced("Transfer-Encoding: chunked"), true);
  assert.equal(await announced("Content-Length: 0"), false);
  assert.equal(await announced(), false);
});

const END = { endAnswer, lingerAtEnd: endLater };

function endLater(response: Exchange[1], body: string): void {
  lingerAtEnd(response);
  response.end(body);
}

for (const [how, end] of Object.entries(END)) {
  it(`an answer reaches a client that is still sending, and the connection is not reset: ${how}`, async (t) => {
    const { client, exchange, received } = await open(t);
    const errors: Error[] = [];
    client.on("error", (error) => errors.push(error));
    const half = Buffer.alloc(4 * 2 ** 20, "x");
    client.write(`POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: ${2 * half.length}\r\n\r\n`);
    const [, response] = await exchange;
    response.writeHead(400, { "Content-Length": 7 });
    end(response, "refused");
    // The client receives the whole answer before it sends the body. Then the service still reads the rest of the body.
    await receive(client, received, /refused$/);
    client.write(half);
    client.write(half);
    await once(client, "end");
    assert.deepEqual(errors, []);
    assert.match(received(), /^HTTP\/1\.1 400 /);
  });

  it(`the next request on the connection is served after an unused body has been discarded: ${how}`, async (t) => {
    const seen: string[] = [];
    const port = await listening(t, {
      request: (request, response) => {
        seen.push(request.url!);
        end(response, request.url!);
      },
    });
    const client = connect(port, "127.0.0.1");
    t.after(() => client.destroy());
    let received = "";
    client.setEncoding("latin1").on("data", (text: string) => (received += text));
    client.write("POST /first HTTP/1.1\r\nContent-Length: 9\r\n\r\nGET /");
    await receive(client, () => received, /\/first/);
    client.write("evil");
    client.write("GET /second HTTP/1.1\r\nConnection: close\r\n\r\n");
    await once(client, "end");
    assert.deepEqual(seen, ["/first", "/second"]);
    assert.match(received, /\/second/);
  });

  it(`an answer to a request that arrived completely ends at once: ${how}`, async (t) => {
    const { client, exchange, received } = await open(t);
    client.write("POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab");
    const [request, response] = await exchange;
    await once(request.resume(), "end");
    end(response, "taken");
    await once(client, "end");
    assert.match(received(), /taken/);
  });
}

const readings: readonly [string, (request: IncomingMessage, response: ServerResponse, bodies: Bodies) => void][] = [
  ["that is discarded", (_, response) => endAnswer(response, "no")],
  [
    "that is read into memory",
    (request, response, bodies) => {
      const owner = { name: "a", isPublic: false };
      const options = { limitBytes: SENT_BYTES, tooLarge: () => new Problem("code_too_large", "too long"), owner };
      void bodies.read(request, response, options).then(() => response.end("no"));
    },
  ],
];
const SENT_BYTES = 8 * 2 ** 20;
/** The most bytes in one turn: the limit, and a chunk that is read before the limit is reached. */
const MOST_A_TURN = 2 * 65_536;

for (const [what, read] of readings) {
  it(`a turn of the event loop reads only a small part of a body ${what}, however fast the body arrives`, async (t) => {
    let inTurn = 0;
    let most = 0;
    const bodies = new Bodies();
    t.after(() => bodies.close());
    const port = await listening(t, {
      request: async (request, response) => {
        // Gives the kernel time to buffer as much as it can before the first read.
        for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
        request.on("data", (chunk: Buffer) => {
          if (inTurn === 0) setImmediate(() => (inTurn = 0));
          inTurn += chunk.length;
          most = Math.max(most, inTurn);
        });
        read(request, response, bodies);
      },
    });
    const client = connect(port, "127.0.0.1");
    t.after(() => client.destroy());
    client.write(`POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: ${SENT_BYTES}\r\n\r\n`);
    client.resume().write(Buffer.alloc(SENT_BYTES));
    await once(client, "end");
    assert.ok(most <= MOST_A_TURN, `${most} bytes in one turn`);
  });
}
