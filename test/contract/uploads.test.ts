import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { after, before, describe, it } from "node:test";

import { isLong } from "../long.ts";
import { type CodeServer, serveCode } from "./code-server.ts";
import { collect, type RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { pause, until } from "./until.ts";

const MIB = 2 ** 20;
const HASH = "require('node:crypto').createHash('sha256')";

let service: Service;
let server: CodeServer;
const texts = new Map<string, string>();

before(async () => {
  server = await serveCode((request, response) => void response.end(texts.get(request.url!)));
  const flags = ["--egress-allow", server.address, "--token-containers", "100", "--log-level", "debug"];
  service = await startService([...NO_WALL, ...flags]);
});
after(async () => {
  await service.stop();
  await server.close();
});

/** Issues a token that runs this code, with the body of a request as data. */
function pinned(code: string): Promise<string> {
  const path = `/${texts.size}`;
  texts.set(path, code);
  return service.issue({ containers: ["*"], code: { url: server.url + path } });
}

const handler = (body: string): string => `export default { async fetch(request, env, ctx) { ${body} } }`;

/** Begins a request whose body the test writes in parts. */
async function begin(
  container: string,
  token: string,
  { headers, agent }: { headers?: RequestOptions["headers"]; agent?: Agent } = {},
): Promise<{ sent: ClientRequest; answered: Promise<IncomingMessage> }> {
  const sent = httpRequest({
    port: service.port,
    method: "POST",
    path: `/api/run/${container}`,
    headers: { authorization: `Bearer ${token}`, ...headers },
    agent: agent ?? false,
  });
  sent.on("error", () => {});
  const answered = once(sent, "response").then(([response]) => response as IncomingMessage);
  answered.catch(() => {});
  sent.flushHeaders();
  return { sent, answered };
}

async function residentBytes(): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, "latin1");
  return 1_024 * Number(/VmRSS:\s+(\d+)/.exec(status)![1]);
}

describe("the body of a run whose code is pinned by URL", () => {
  const readers = {
    "a fetch handler": handler("return new Response(Buffer.from(await request.arrayBuffer()).toString('latin1'))"),
    "a Node handler":
      "module.exports = (context, req, res) => { let text = ''; req.setEncoding('latin1').on('data', (piece) => text += piece).on('end', () => res.end(text)) }",
  };
  for (const [what, code] of Object.entries(readers)) {
    it(`arrives byte for byte as it was sent: ${what}`, async () => {
      const token = await pinned(code);
      const bodies: [string, string][] = [
        ["application/json", ' {"b" : 1,\n"a":1.0}'],
        ["application/x-www-form-urlencoded", "a=1&&a=%41+"],
        ["application/octet-stream", "\u0000\u00ff\r\n"],
        ["text/plain", ""],
      ];
      for (const [type, text] of bodies) {
        const body = Buffer.from(text, "latin1");
        for (const encoding of [{}, { "transfer-encoding": "chunked" }]) {
          const headers = { "content-type": type, ...encoding };
          const answer = await service.request("POST", "/api/run/bytes", { token, body, headers });
          assert.deepEqual([answer.status, answer.text], [200, text], type);
        }
      }
    });
  }

  it("is also a value for a Node handler, if it is JSON", async () => {
    const token = await pinned(
      "module.exports = (context, req, res) => res.end(JSON.stringify([context.body, req.body, context.data]))",
    );
    const answer = await service.request("POST", "/api/run/node", { token, json: { a: 1 } });
    assert.deepEqual(answer.json(), [{ a: 1 }, { a: 1 }, { a: 1 }]);
  });

  it("is passed on as it arrives: the first bytes are answered before the rest is sent", async () => {
    const token = await pinned(handler("return new Response(request.body)"));
    const { sent, answered } = await begin("echo", token);
    sent.write("first");
    const response = await answered;
    const [first] = (await once(response, "data")) as [Buffer];
    assert.equal(first.toString(), "first");
    sent.end(" last");
    assert.equal((await collect(response)).text, " last");
  });

  it("can have any size, and uses no memory of the service", async () => {
    const token = await pinned(
      handler(`
        const hash = ${HASH};
        let bytes = 0;
        for await (const piece of request.body) { bytes += piece.length; hash.update(piece) }
        return Response.json([bytes, hash.digest("hex")]);
      `),
    );
    const beforeBytes = await residentBytes();
    const { sent, answered } = await begin("large", token);
    let maxBytes = 0;
    for (let count = 0; count < 256; count++) {
      if (!sent.write(Buffer.alloc(MIB, count))) await once(sent, "drain");
      if (count % 8 === 0) maxBytes = Math.max(maxBytes, await residentBytes());
    }
    sent.end();
    const [bytes] = (await collect(await answered)).json() as [number, string];
    assert.equal(bytes, 256 * MIB);
    assert.ok(maxBytes - beforeBytes < 128 * MIB, `${(maxBytes - beforeBytes) / MIB} MiB more for a body of 256`);
  });

  it("makes its sender wait while the task does not read it, and the connection is reused after the answer", async () => {
    const token = await pinned(
      handler(`
        if (request.url.endsWith("?go")) return new Response(go());
        await new Promise((go) => { globalThis.go = go; console.log("holds") });
        return new Response("unread");
      `),
    );
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const { sent, answered } = await begin("held", token, { agent });
    await service.logLine((line) => line.includes('"container":"held"') && line.includes("holds"));
    let written = 0;
    while (sent.write(Buffer.alloc(MIB)) || sent.writableLength < 8 * MIB) written++;
    const socket = sent.socket!;
    let lastBytes = -1;
    await until(() => {
      const isSame = socket.bytesWritten === lastBytes;
      lastBytes = socket.bytesWritten;
      return isSame;
    }, "no more bytes are accepted");
    assert.ok(sent.writableLength > 0 && written > 0, "the sender waits");
    await service.request("POST", "/api/run/held?go", { token });
    assert.equal((await collect(await answered)).text, "unread");
    sent.destroy();
    agent.destroy();

    const unread = await pinned(handler("return new Response('unread')"));
    const again = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let count = 0; count < 2; count++) {
      const next = await begin("unread", unread, { agent: again });
      next.sent.end(Buffer.alloc(4 * MIB));
      assert.equal((await collect(await next.answered)).text, "unread");
    }
    again.destroy();
  });

  it("is rejected if it is too long for a task that needs all of it at once", async () => {
    const token = await pinned("(context) => context.body.length");
    const answer = await service.request("POST", "/api/run/value", { token, body: "x".repeat(1_000) });
    assert.equal(answer.text, "1000");
    const headers = { "transfer-encoding": "chunked" };
    const long = await service.request("POST", "/api/run/value", { token, headers, body: Buffer.alloc(5 * MIB, "x") });
    assert.match(assertProblem(long, 400, "request_invalid").detail, /longer than the limit of 4194304 bytes/);
    assert.equal((await service.request("POST", "/api/run/value", { token, body: "x" })).text, "1");
  });

  it("is the caller's fault if it claims to be JSON and is not, even if the service detects that late", async () => {
    const token = await pinned("(context) => context.body");
    const headers = { "content-type": "application/json", "transfer-encoding": "chunked" };
    assertProblem(
      await service.request("POST", "/api/run/late", { token, headers, body: "{" }),
      400,
      "request_invalid",
    );
    assert.equal((await service.request("POST", "/api/run/late", { token, headers, body: "[1]" })).text, "[1]");
  });

  it("that breaks off is an error for its reader", async () => {
    const token = await pinned(
      handler(`
        console.log("begun");
        await request.text().catch((error) => console.log("broke: " + error.name));
        return new Response("");
      `),
    );
    const { sent } = await begin("broken", token);
    sent.write("some");
    await service.logLine((line) => line.includes('"container":"broken"') && line.includes("begun"));
    sent.destroy();
    await service.logLine((line) => line.includes('"container":"broken"') && line.includes("broke: AbortError"));
  });

  it("waits for 100-continue if the client requests it", async () => {
    const token = await pinned(handler("return new Response(await request.text())"));
    const { sent, answered } = await begin("asks", token, {
      headers: { expect: "100-continue", "content-length": "4" },
    });
    await once(sent, "continue");
    sent.end("body");
    assert.equal((await collect(await answered)).text, "body");
  });
});

describe("an upload that takes longer than a minute", { skip: !isLong && "it takes more than a minute" }, () => {
  it("is read to its end by a task that answers while it reads", async () => {
    const token = await pinned(handler("return new Response(request.body)"));
    const { sent, answered } = await begin("slow-upload", token, { headers: { "transfer-encoding": "chunked" } });
    let written = "";
    const write = (text: string): void => {
      sent.write(text);
      written += text;
    };
    write("first;");
    const response = await answered;
    for (let second = 0; second < 65; second += 5) {
      await pause(5_000);
      write(`${second};`);
    }
    sent.end();
    assert.equal((await collect(response)).text, written);
  });
});
