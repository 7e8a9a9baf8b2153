import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";

import { closedAddress } from "../contract/code-server.ts";
import { command } from "./command.ts";

const LIST = { jsonrpc: "2.0", id: "a", method: "tools/list" };

function lines(...messages: unknown[]): string {
  return messages.map((message) => `${typeof message === "string" ? message : JSON.stringify(message)}\n`).join("");
}

/** Runs the bridge on some messages, until it ends with stdin. @returns what it has written, by line */
async function pass(url: string, input: string): Promise<{ code: number | null; written: unknown[]; stderr: string }> {
  const { code, stdout, stderr } = await command(["mcp", "--url", url], { CAISSON_TOKEN: "x" }, undefined, input);
  return {
    code,
    written: stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as unknown),
    stderr,
  };
}

/** A server that answers with these bodies, in this order. */
async function serving(t: TestContext, ...answers: [status: number, type: string, body: string][]): Promise<string> {
  const server = createServer((request, response) => {
    const [status, type, body] = answers.shift()!;
    request.resume().once("end", () => response.writeHead(status, { "content-type": type }).end(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("caisson mcp", () => {
  it("answers what it cannot pass on with errors of the protocol, and ends with stdin", async () => {
    const url = `http://${await closedAddress()}`;
    const { code, written, stderr } = await pass(
      url,
      lines("{", "", [LIST], LIST, { jsonrpc: "2.0", method: "notifications/x" }),
    );
    assert.equal(code, 0);
    assert.equal(written.length, 3);
    assert.partialDeepStrictEqual(written, [
      { id: null, error: { code: -32_700 } },
      { id: null, error: { code: -32_600 } },
      { id: "a", error: { code: -32_000 } },
    ]);
    assert.match(JSON.stringify(written[2]), /the service was not reached: .*ECONNREFUSED/);
    assert.match(stderr, /^caisson: the service was not reached/);
  });

  it("writes each message as one line, whatever its server sends, and answers each request once", async (t) => {
    const answer = { jsonrpc: "2.0", id: "a", result: { text: "\u2028\r\n\n{}" } };
    const spread = JSON.stringify(answer, null, 2);
    const events = `: hi\r\n\r\nevent: message\r\n${spread
      .split("\n")
      .map((line) => `data: ${line}\r\n`)
      .join("")}\r\n`;
    const problem = { detail: "the token is expired", hint: "Ask for a new one.", code: "token_invalid" };
    const url = await serving(
      t,
      [200, "application/json", spread],
      [200, "text/event-stream", events],
      [401, "application/problem+json", JSON.stringify(problem)],
      [502, "text/html", "<h1>\n</h1>"],
      [200, "application/json", '"text"'],
    );
    // One after the other, so that the answers have this order.
    const written: unknown[] = [];
    for (let n = 0; n < 5; n++) written.push(...(await pass(url, lines(LIST))).written);
    assert.partialDeepStrictEqual(written, [
      answer,
      answer,
      {
        id: "a",
        error: { message: "the token is expired\nAsk for a new one.", data: { status: 401, code: "token_invalid" } },
      },
      { id: "a", error: { message: "the service answered with status 502" } },
      { id: "a", error: { message: "the service answered with status 200 and without a message" } },
    ]);
    assert.equal(written.length, 5);
  });

  it("refuses invalid input before it reads a message", async () => {
    for (const words of [
      ["--url", "ftp://x"],
      ["--container", ".."],
      ["--cotainer", "a"],
    ]) {
      const { code, stdout } = await command(["mcp", ...words], { CAISSON_TOKEN: "x" });
      assert.deepEqual([code, stdout], [2, ""], words.join(" "));
    }
  });
});
