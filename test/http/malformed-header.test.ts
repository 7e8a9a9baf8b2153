import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";

import { MalformedRequests } from "../../src/http/malformed.ts";

const BREAK =
  /^The header Authorization contains a line break, such as that of a token from a file with Windows line ends: remove it, as tr -d '\\r\\n' does\.$/;

let server: Server;
before(async () => {
  const malformed = new MalformedRequests();
  server = createServer((request, response) => {
    malformed.track(request, response);
    request.resume().on("end", () => response.end());
  }).on("clientError", (error, socket) => malformed.refuse(error, socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
});
after(() => server.close());

async function answerTo(...parts: readonly string[]): Promise<{ detail: string; hint?: string }> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").setNoDelay();
  const answer = text(socket);
  for (const part of parts) {
    socket.write(part);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [head, body] = (await answer).split("\r\n\r\n");
  assert.match(head!, /^HTTP\/1\.1 400 /);
  return JSON.parse(body!) as { detail: string; hint?: string };
}

function withHeader(header: string): string {
  return `POST / HTTP/1.1\r\nHost: x\r\n${header}\r\nContent-Length: 1\r\n\r\n1`;
}

describe("the hint for a header that the parser rejects", () => {
  const rows: readonly [header: string, hint: RegExp][] = [
    ["Authorization: Bearer secret.token\r", BREAK],
    ["Authorization: Bearer secret.token\n", BREAK],
    ["Authorization: Bearer secret\r.token", BREAK],
    ["Authorization: Bearer secret\n.token", BREAK],
    ["Authorization: Bearer secret\r\n.token", BREAK],
    ["Authorization: Bearer secret\r\n .token", BREAK],
    ["Authorization : Bearer secret", /^The name of a header contains a space/],
    ["Authorization: Bearer secret\u0000", /^The value of the header Authorization contains a control character/],
    ["\u00E9: secret", /^The name of a header contains a space, or another character/],
  ];
  for (const [header, hint] of rows) {
    it(`names the header and what to do, and no text of its value: ${JSON.stringify(header)}`, async () => {
      const answer = await answerTo(withHeader(header));
      assert.match(answer.hint!, hint);
      assert.doesNotMatch(JSON.stringify(answer), /secret/);
    });
  }

  it("does not name the header if its name came in an earlier packet", async () => {
    const { hint } = await answerTo("POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ", "secret\r\r\nX: 1\r\n\r\n");
    assert.match(hint!, /^(?:A header probably|The header Authorization) contains a line break/);
  });

  it("is not given for the chunks of a body", async () => {
    const chunk = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\rX";
    assert.equal((await answerTo(chunk)).hint, undefined);
  });
});

it("a request with an unknown transfer coding is 501, also if the parser rejects its body before it begins", async () => {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const answer = text(socket);
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nx");
  assert.match(await answer, /^HTTP\/1\.1 501 /);
});
