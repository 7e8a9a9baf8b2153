import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { it } from "node:test";

import { LogPrinter } from "../../src/cli/logs/printer.ts";
import { command } from "./command.ts";

const EVIL = "a\u001b]0;title\u0007\u009b31m\u202eb";
/** What acts on a terminal, without line ends and tabs. */
const ACTING = /[^\P{Cc}\n\t]|\p{Bidi_Control}/u;

it("no text of a server that a user has named acts on the terminal", async (t) => {
  const claims = { jti: EVIL, admin: false, can: [EVIL], containers: [EVIL], exp: null, limits: {}, labels: {} };
  const line = { atMs: 1, level: EVIL, text: EVIL };
  const record = {
    ...{ run: EVIL, container: EVIL, task: EVIL, version: 1, trigger: EVIL, node: EVIL, token: EVIL, status: EVIL },
    ...{ resultType: EVIL, response: null, console: [line], dropped: { lines: 0, bytes: 0 }, error: null, hint: EVIL },
    ...{ startedAt: EVIL, ms: { queue: 1, start: 1, run: 1 }, start: EVIL, traceparent: EVIL, limits: {} },
    guest: { cpuMs: 1, memoryPeakBytes: 1, concurrentRuns: 0 },
    egress: { connections: 0, bytesSent: 0, bytesReceived: 0, refused: 0 },
  };
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jti: EVIL, claims, ...record }));
  });
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const args of [
    ["tokens", "issue", "acme"],
    ["runs", "show", "acme", "83e5dff0792f-1"],
  ]) {
    const { stdout, stderr } = await command([...args, "--url", url], { CAISSON_TOKEN: "a.b.c" });
    assert.match(stdout, /a\\u001b\]0;title/, stderr);
    assert.doesNotMatch(stdout + stderr, ACTING);
  }
  let printed = "";
  new LogPrinter(false, (text) => (printed += text)).line(EVIL, line as never);
  assert.match(printed, /title/);
  assert.doesNotMatch(printed, ACTING);
});
