import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { it, type TestContext } from "node:test";

import { Problem } from "../../src/errors.ts";
import { Bodies } from "../../src/http/bodies.ts";
import { endAnswer, expectBody, hasBody, lingerAtEnd } from "../../src/http/read-body.ts";
import { type Exchange, listening } from "./listening.ts";

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
    await once(request.resume(), "end");
    end(response, "taken");
    await once(client, "end");
    assert.match(said(), /taken/);
  });
}

const readings: readonly [string, (request: IncomingMessage, response: ServerResponse, bodies: Bodies) => void][] = [
  ["that nobody wants", (_, response) => endAnswer(response, "no")],
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
/** What is read before it is known to be too much. */
const MOST_A_TURN = 2 * 65_536;

for (const [what, read] of readings) {
  it(`of a body ${what}, a turn of the event loop reads little, however fast it comes`, async (t) => {
    let inTurn = 0;
    let most = 0;
    const bodies = new Bodies();
    t.after(() => bodies.close());
    const port = await listening(t, {
      request: async (request, response) => {
        // The kernel takes what it can before the first read.
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
