import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { brotliCompressSync, gunzipSync, gzipSync } from "node:zlib";

import { type Answer, collect, respond } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const MIB = 2 ** 20;
const TEXT = "as it was before it was compressed ".repeat(100);
/** A server on the web whose answers are compressed. */
const compressingServer = createServer(({ url }, response) => {
  const [coding, bytes] = url === "/br" ? ["br", brotliCompressSync(TEXT)] : ["gzip", gzipSync(TEXT)];
  response.writeHead(200, { "content-encoding": coding, "content-length": bytes.length }).end(bytes);
});

let service: Service;
let origin: string;

before(async () => {
  compressingServer.listen(0, "127.0.0.1");
  await once(compressingServer, "listening");
  const { port } = compressingServer.address() as AddressInfo;
  origin = `http://127.0.0.1:${port}`;
  service = await startService([...NO_WALL, "--egress-allow", `127.0.0.1:${port}`]);
});
after(async () => {
  compressingServer.close();
  await service.stop();
});

function stream(container: string, code: string): Promise<IncomingMessage> {
  return respond(service.port, "POST", `/api/run/${container}`, { token: service.admin, body: code });
}

/** Answers with a body whose rest is written after its first bytes have arrived. */
async function answerInParts(length: string, rest: string): Promise<Answer> {
  const code = `(context, req, res) => {
    res.setHeader("content-length", "${length}");
    res.write("abc");
    globalThis.go = () => void res.end("${rest}");
  }`;
  const response = await stream("length", code);
  const whole = collect(response);
  await once(response, "data");
  await service.run("length", "go()");
  return whole;
}

/**
 * Sends a run over HTTP/1.0. @returns the body, whose rest is written after its first bytes have arrived, and how it
 * ends
 */
async function requestOverHttp10(container: string, code: string): Promise<{ body: string; code: string }> {
  const socket = connect(service.port, "127.0.0.1").setEncoding("latin1");
  const token = `Authorization: Bearer ${service.admin}`;
  socket.write(`POST /api/run/${container} HTTP/1.0\r\n${token}\r\nContent-Length: ${code.length}\r\n\r\n${code}`);
  let text = "";
  let broke = "";
  socket.on("data", (chunk: string) => (text += chunk));
  socket.on("error", (error: NodeJS.ErrnoException) => (broke = error.code!));
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const body = (): string => text.split("\r\n\r\n")[1] ?? "";
  await until(() => body().length === 2, "the first bytes have arrived");
  await service.run(container, "go()");
  await closed;
  return { body: body(), code: broke };
}

async function pulls(): Promise<number> {
  return Number((await service.run("slow", "globalThis.pulls")).text);
}

async function residentBytes(): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, "latin1");
  return 1_024 * Number(/VmRSS:\s+(\d+)/.exec(status)![1]);
}

describe("the length of a body", () => {
  const whole = {
    "a Response of text": "new Response('héllo')",
    "a Response that claims a wrong length": "new Response('héllo', { headers: { 'content-length': '5000' } })",
    bytes: "Buffer.from('héllo')",
    "a Blob": "new Blob(['héllo'])",
    "a Node handler that ends at once": "(context, req, res) => { res.write('hé'); res.end('llo') }",
    "a generator that waits for nothing": "function* () { yield 'hé'; yield 'llo' }",
  };
  for (const [what, code] of Object.entries(whole)) {
    it(`is sent if the whole body exists at once: ${what}`, async () => {
      const answer = await service.run("length", code);
      assert.deepEqual([answer.status, answer.text, answer.headers["content-length"]], [200, "héllo", "6"]);
    });
  }

  it("is sent if the task sets it for a body that it writes in parts", async () => {
    const answer = await answerInParts("6", "def");
    assert.deepEqual([answer.text, answer.headers["content-length"], answer.complete], ["abcdef", "6", true]);
  });

  it("is binding: a body that is shorter or longer is cut, and never looks complete", async () => {
    for (const length of ["5", "7"]) {
      const answer = await answerInParts(length, "def");
      assert.deepEqual([answer.headers["content-length"], answer.complete], [length, false]);
    }
  });

  it("is not sent if it is not a number of digits", async () => {
    for (const length of ["-1", "1e3", "0x6"]) {
      const answer = await answerInParts(length, "def");
      assert.deepEqual([answer.text, answer.headers["content-length"]], ["abcdef", undefined]);
    }
  });

  for (const status of [204, 304]) {
    it(`is not sent with status ${status}, which has no body, whatever the task writes`, async () => {
      const code = `(context, req, res) => { res.writeHead(${status}, { "content-length": "4", etag: '"a"' }); res.end("body") }`;
      const answer = await service.run("length", code);
      assert.deepEqual(
        [answer.status, answer.text, answer.headers["content-length"], answer.headers["transfer-encoding"]],
        [status, "", undefined, undefined],
      );
      assert.equal(answer.headers["etag"], '"a"');
      assert.equal((await service.run("length", "6 * 7")).text, "42");
    });
  }
});

describe("a compressed body", () => {
  it("that the task compresses is passed on without change", async () => {
    const code = "new Response(require('zlib').gzipSync('small'), { headers: { 'content-encoding': 'gzip' } })";
    const answer = await service.run("zipped", code);
    assert.equal(answer.headers["content-encoding"], "gzip");
    assert.equal(gunzipSync(answer.bytes).toString(), "small");
  });

  const ways = {
    "answered without change": "return fetch(URL)",
    "answered as a clone": "return (await fetch(URL)).clone()",
    "copied into a new Response": "const got = await fetch(URL); return new Response(got.body, got)",
    "copied into a new Response with its headers":
      "const { body, headers } = await fetch(URL); return new Response(body, { headers })",
  };
  for (const [what, code] of Object.entries(ways)) {
    it(`that fetch has decompressed has no Content-Encoding: ${what}`, async () => {
      for (const coding of ["gzip", "br"]) {
        const answer = await service.run("fetched", code.replace("URL", `"${origin}/${coding}"`));
        assert.deepEqual([answer.status, answer.headers["content-encoding"]], [200, undefined], answer.text);
        assert.equal(answer.text, TEXT);
      }
    });
  }
});

describe("a stream", () => {
  const counting = `globalThis.pulls = 0;
    return new Response(new ReadableStream({ pull(c) { globalThis.pulls++; c.enqueue(new Uint8Array(65536)) } }))`;

  it("stops its producer while its client reads nothing, and continues when the client reads", async () => {
    const response = await stream("slow", counting);
    let last = -1;
    await until(async () => {
      const now = await pulls();
      const waits = now === last && now > 0;
      last = now;
      return waits;
    }, "the producer waits");
    // The two sockets of the connection hold some megabytes.
    assert.ok(last * 65_536 < 32 * MIB, `${last} pieces were produced and not read`);
    response.resume();
    await until(async () => (await pulls()) > last, "the producer continues");
    response.destroy();
  });

  it("of any size uses no memory of the service", async () => {
    const code = `new Response(new ReadableStream({ pull(c) { this.left ??= 4096; c.enqueue(new Uint8Array(65536)); if (--this.left === 0) c.close() } }))`;
    const beforeBytes = await residentBytes();
    let bytes = 0;
    let maxBytes = 0;
    let sampledAt = 0;
    for await (const chunk of await stream("large", code)) {
      bytes += (chunk as Buffer).length;
      if (bytes - sampledAt < 8 * MIB) continue;
      sampledAt = bytes;
      maxBytes = Math.max(maxBytes, await residentBytes());
    }
    assert.equal(bytes, 256 * MIB);
    assert.ok(maxBytes - beforeBytes < 128 * MIB, `${(maxBytes - beforeBytes) / MIB} MiB more for a body of 256`);
  });

  it("ends with --stream-limit, cut and not complete, and the container still answers", async () => {
    const brief = await startService([...NO_WALL, "--stream-limit", "1s"]);
    try {
      const code = "new Response(new ReadableStream({ start(c) { c.enqueue('on and on') } }))";
      const answer = await brief.run("endless", code);
      assert.deepEqual([answer.status, answer.text, answer.complete], [200, "on and on", false]);
      assert.equal((await brief.run("endless", "6 * 7")).text, "42");
    } finally {
      await brief.stop();
    }
  });

  it("causes no warning of Node, which would be a line on stderr that no share bounds", async () => {
    const code = 'new Response(new ReadableStream({ start(c) { c.enqueue("a"); c.enqueue("b"); c.close(); } }))';
    assert.equal((await collect(await stream("quiet", code))).text, "ab");
    assert.doesNotMatch(service.stderr(), /MaxListeners/);
  });

  it("has no trailers, and a handler that adds trailers still works", async () => {
    const code =
      "(context, req, res) => { res.setHeader('trailer', 'x-a'); res.write('a'); res.addTrailers({ 'x-a': 'b' }); res.end('b') }";
    const answer = await service.run("trailers", code);
    assert.deepEqual([answer.text, answer.headers["trailer"]], ["ab", undefined]);
  });

  it("that fails before its first byte has a status of success and is cut", async () => {
    const answer = await service.run(
      "fails",
      "new Response(new ReadableStream({ pull(c) { c.error(new Error('no')) } }))",
    );
    assert.equal(answer.complete, false);
    assertProblem(await service.run("fails", "throw new Error('no')"), 500, "task_threw");
  });

  it("of a generator that fails before its first byte is a complete answer with its error", async () => {
    const answer = await service.run("fails", "async function* main() { throw new RangeError('no rows') }");
    assert.equal(answer.complete, true);
    assert.match(assertProblem(answer, 500, "task_threw").detail, /RangeError: no rows/);
  });

  it("that breaks resets a connection of HTTP/1.0, on which a close would mean the end of the body", async () => {
    const code = `new Response(new ReadableStream({
      pull(c) { this.n = (this.n ?? 0) + 1; return this.n < 3 ? c.enqueue("a") : new Promise((go) => { globalThis.go = go }).then(() => END) }
    }, { highWaterMark: 0 }))`;
    assert.deepEqual(await requestOverHttp10("old", code.replace("END", "c.close()")), { body: "aa", code: "" });
    assert.deepEqual(await requestOverHttp10("old", code.replace("END", "c.error(new Error('no'))")), {
      body: "aa",
      code: "ECONNRESET",
    });
  });

  it("has the header that stops nginx from buffering it, whatever its type, and a complete body does not", async () => {
    for (const type of ["text/event-stream", "text/plain"]) {
      const head = `{ headers: { "content-type": "${type}" } }`;
      const made = await service.run("gathered", `new Response('data: 1\\n\\n', ${head})`);
      assert.equal(made.headers["x-accel-buffering"], undefined);
      const response = await stream("gathered", `new Response(new ReadableStream({}), ${head})`);
      assert.equal(response.headers["x-accel-buffering"], "no");
      response.destroy();
    }
  });
});
