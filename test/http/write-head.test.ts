import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { it } from "node:test";

import { headerLines, writeHeadWith } from "../../src/http/write-head.ts";

const LINES = ["Caisson-Run", "r-1", "X-Content-Type-Options", "nosniff"];
const HEADERS = ["Content-Length", "2", "Retry-After", "1"];
const STATUSES = [200, 204, 304, 418, 429, 500, 599];
const REQUESTS = ["GET / HTTP/1.1", "HEAD / HTTP/1.1", "POST / HTTP/1.0"];

it("a head with prepared lines is the head that Node writes, for each status, method, version and connection", async () => {
  const variants = STATUSES.flatMap((status) => [false, true].map((isClosing) => ({ status, isClosing })));
  for (const { status, isClosing } of variants) {
    for (const request of REQUESTS) {
      const heads = [plain, prepared].map((write) =>
        headOf(request, (response) => {
          if (isClosing) response.setHeader("Connection", "close");
          write(response, status);
        }),
      );
      const [expected, actual] = await Promise.all(heads);
      assert.deepEqual(actual, expected, `${request}, ${status}, ${isClosing}`);
      assert.ok(expected!.includes("Retry-After: 1"));
    }
  }
});

it("a header that is not prepared is still checked", async () => {
  const head = await headOf("GET / HTTP/1.1", (response) => {
    assert.throws(() => writeHeadWith(response, 200, "", ["Caisson-Hint", "a\r\nb: c"]), { code: "ERR_INVALID_CHAR" });
    response.writeHead(500);
  });
  assert.ok(head.some((line) => line.startsWith("HTTP/1.1 500")));
});

function plain(response: ServerResponse, status: number): void {
  response.writeHead(status, [...LINES, ...HEADERS]);
}

function prepared(response: ServerResponse, status: number): void {
  writeHeadWith(response, status, headerLines(LINES), HEADERS);
}

/** Returns the lines of the answer in order, because the order of headers has no meaning, and without the date. */
async function headOf(request: string, answer: (response: ServerResponse) => void): Promise<string[]> {
  await using server = createServer((_, response) => {
    answer(response);
    response.end("ok");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.end(`${request}\r\nHost: x\r\n\r\n`);
  const received = await text(socket);
  const lines = received.split("\r\n").filter((line) => !line.startsWith("Date: "));
  return lines.toSorted();
}
