import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";

import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

let service: Service;

before(async () => {
  service = await startService(NO_WALL);
});
after(() => service.stop());
afterEach(async () => {
  assert.equal((await service.run("next", "6 * 7")).text, "42");
});

function head(target: string, ...headers: readonly string[]): string {
  return [`POST ${target} HTTP/1.1`, "Host: x", `Authorization: Bearer ${service.admin}`, ...headers, "", ""].join(
    "\r\n",
  );
}

function post(target: string, body: string, ...headers: readonly string[]): string {
  return head(target, `Content-Length: ${Buffer.byteLength(body)}`, ...headers) + body;
}

function health(...headers: readonly string[]): string {
  return ["GET /healthz HTTP/1.1", ...headers, "", ""].join("\r\n");
}

/** Splits answers that have a length into statuses and bodies. Fails if other bytes are between them. */
function split(text: string): { status: number; head: string; body: string }[] {
  const answers = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\r\n\r\n", at) + 4;
    const answerHead = text.slice(at, end);
    const [, status] = /^HTTP\/1\.1 (\d+) /.exec(answerHead) ?? assert.fail(`no answer begins at ${text.slice(at)}`);
    const length = Number(/^content-length: (\d+)/im.exec(answerHead)?.[1] ?? 0);
    answers.push({ status: Number(status), head: answerHead, body: text.slice(end, end + length) });
    at = end + length;
  }
  return answers;
}

/** Asserts that a raw answer has what every refusal of the service has. */
function assertRefusal({ head: text, body }: { head: string; body: string }, status: number): void {
  assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
  assert.match(text, /^content-type: application\/problem\+json/im);
  assert.match(text, /^caisson-fault: caller/im);
  assert.match(text, /^caisson-version: /im);
  assert.equal((JSON.parse(body) as { status: number }).status, status);
}

/** Code that waits until another run calls `go`. */
const WAITS = `const hold = setInterval(() => {}, 1000);
  await new Promise((go) => { globalThis.go = go; console.log("waits") });
  clearInterval(hold);
  return "FIRST"`;
const GARBAGE = "\u0001GARBAGE\r\n\r\n";

interface Conversation {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  readonly text: () => string;
}

function converse(): Conversation {
  const socket = connect(service.port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.on("error", () => {});
  return { socket, closed: once(socket, "close"), text: () => text };
}

describe("bytes that are not HTTP after a valid request", () => {
  const trailing: Record<string, [bytes: string, status: number]> = {
    garbage: [GARBAGE, 400],
    "more garbage": [GARBAGE.repeat(1_000), 400],
    "too many headers": [`GET / HTTP/1.1\r\nHost: x\r\n${"a:\r\n".repeat(1_500)}\r\n`, 431],
    "a CONNECT": ["CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 405],
    "the preface of HTTP/2": ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
  };
  for (const [what, [bytes, status]] of Object.entries(trailing)) {
    it(`are rejected after the answer to that request, which stays complete: ${what}`, async () => {
      const { socket, closed, text } = converse();
      const first = post("/api/run/first", WAITS);
      socket.write(post("/api/run/other", "1") + first + bytes);
      // The parser has read the garbage before this second run can begin.
      await until(async () => (await service.run("first", "typeof go")).text === '"function"', "the run waits");
      socket.write(GARBAGE);
      assert.equal((await service.run("first", "go()")).status, 200);
      await closed;
      const answers = split(text());
      assert.deepEqual(
        answers.map((answer) => answer.status),
        [200, 200, status],
      );
      assert.equal(answers[1]!.body, '"FIRST"');
      assertRefusal(answers[2]!, status);
    });
  }

  it("do not keep a run alive whose client leaves", async () => {
    const { socket, closed } = converse();
    const code = `(context) => { context.signal.onabort = () => { globalThis.left = true }; globalThis.begun = true; return new Promise((never) => setTimeout(never, 60_000)) }`;
    socket.write(post("/api/run/leaves", code) + GARBAGE);
    await until(async () => (await service.run("leaves", "globalThis.begun")).text === "true", "the run has begun");
    socket.end();
    await closed;
    await until(
      async () => (await service.run("leaves", "globalThis.left")).text === "true",
      "the signal of the run aborts",
    );
  });
});

describe("a body that is malformed", () => {
  const CHUNKED = "Transfer-Encoding: chunked";
  const STREAMS = `export default { async fetch() { return new Response(new ReadableStream({ async start(c) {
    c.enqueue(new TextEncoder().encode("part0;"));
    await new Promise((go) => { globalThis.go = go });
    c.enqueue(new TextEncoder().encode("part1;"));
    c.close();
  } }), { headers: { "content-length": "12" } }) } }`;

  it("cuts the answer that is under way, and writes nothing into it", async () => {
    await service.request("PUT", "/api/tasks/inflight/drip", { json: { code: STREAMS } });
    const { socket, closed, text } = converse();
    socket.write(`${head("/api/run/inflight/drip", CHUNKED)}5\r\nhello\r\n`);
    await until(() => text().includes("part0;"), "the answer has begun");
    socket.write("ZZ\r\n");
    await closed;
    assert.match(text(), /^HTTP\/1\.1 200 [^]*\r\n\r\npart0;$/);
  });

  it("is rejected if no answer is under way", async () => {
    const code = "export default { async fetch(request) { return new Response(await request.text()) } }";
    await service.request("PUT", "/api/tasks/inflight/reads", { json: { code } });
    const answer = await service.raw(`${head("/api/run/inflight/reads", CHUNKED)}5\r\nhello\r\n`, "ZZ\r\n");
    assertRefusal(split(answer)[0]!, 400);
  });

  it("is rejected after the answers to earlier requests", async () => {
    const answer = await service.raw(
      post("/api/run/first", "await new Promise((go) => setTimeout(go, 300)); return 1"),
      `${head("/api/run/first", CHUNKED)}5\r\nhello\r\nZZ\r\n`,
    );
    const answers = split(answer);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 400],
    );
    assertRefusal(answers[1]!, 400);
  });

  it("does not remove the answer that exists already", async () => {
    const { socket, closed, text } = converse();
    socket.write(`${head("/api/run/%00", CHUNKED)}5\r\nhello\r\n`);
    await until(() => text().includes("container_invalid"), "the answer is written");
    socket.write("ZZ\r\n");
    await closed;
    assert.deepEqual(
      split(text()).map(({ status }) => status),
      [400],
    );
  });
});

describe("a request that HTTP allows", () => {
  const legal: Record<string, string> = {
    "HTTP/1.0 without Host": "GET /healthz HTTP/1.0\r\n\r\n",
    "an empty Host": "GET /healthz HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
    "a Host of IPv6": "GET /healthz HTTP/1.1\r\nHost: [::1]:7070\r\nConnection: close\r\n\r\n",
    "a Host with a port": "GET /healthz HTTP/1.1\r\nHost: a.example:\r\nConnection: close\r\n\r\n",
    "the absolute form": "GET http://127.0.0.1/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "the absolute form in capitals": "GET HTTP://LOCALHOST:80/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "256 headers": `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${"a:\r\n".repeat(254)}\r\n`,
  };
  for (const [what, bytes] of Object.entries(legal)) {
    it(`is answered: ${what}`, async () => {
      assert.match(await service.raw(bytes), /^HTTP\/1\.1 200 /);
    });
  }

  it("is answered: OPTIONS for the whole service", async () => {
    const answer = await service.raw("OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert.match(answer, /^HTTP\/1\.1 204 [^]*^allow: GET, POST, PUT, PATCH, DELETE, OPTIONS\r$/im);
    assert.match(answer, /^caisson-version: /im);
  });

  for (const [what, line, host] of [
    ["no Host", "POST /api/run/url HTTP/1.0", "Connection: close"],
    ["an empty Host", "POST /api/run/url HTTP/1.1", "Host:"],
  ]) {
    it(`is answered: a run with ${what}`, async () => {
      const code = "(context) => context.url";
      const rest = `Authorization: Bearer ${service.admin}\r\nConnection: close\r\nContent-Length: ${code.length}`;
      const answer = await service.raw(`${line}\r\n${host}\r\n${rest}\r\n\r\n${code}`);
      assert.match(answer, /^HTTP\/1\.1 200 [^]*"http:\/\/localhost\/api\/run\/url"$/);
    });
  }

  it("reports the host of the target, which overrides the header", async () => {
    const answer = await service.raw(
      post("http://localhost:81/api/run/url", "(context) => context.url", "Connection: close"),
    );
    assert.equal(split(answer)[0]!.body, '"http://localhost:81/api/run/url"');
  });
});

it("a client of HTTP/1.0 never receives 100 Continue, which it would take for the answer", async () => {
  const start = `POST /api/run/a HTTP/1.0\r\nAuthorization: Bearer ${service.admin}\r\nExpect: 100-continue\r\n`;
  // So long that it does not arrive with the head.
  const code = `42${" ".repeat(100_000)}`;
  const answer = await service.raw(`${start}Content-Length: ${code.length}\r\n\r\n`, code);
  assert.match(answer, /^HTTP\/1\.1 200 [^]*\r\n\r\n42$/);
});

describe("a request that HTTP forbids", () => {
  const chunks = "1\r\n1\r\n0\r\n\r\n";
  const next = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  const forbidden: Record<string, [status: number, bytes: () => string]> = {
    "an unknown expectation": [417, () => post("/api/run/a", "1", "Expect: other")],
    "an unknown expectation, on the API": [417, () => health("Host: x", "Expect: other")],
    "a Host with a path": [400, () => health("Host: a/b")],
    "a Host with a user": [400, () => health("Host: a@b")],
    "a Host with a space": [400, () => health("Host: a b")],
    "a Host with two ports": [400, () => health("Host: a:1:2")],
    "a Host with a port above 65535": [400, () => health("Host: [::1]:99999")],
    "a Host that is no address": [400, () => health("Host: 1.2.3.4.5")],
    "a Host with an invalid IPv6 address": [400, () => health("Host: [::zz]")],
    "a Host with a path, on a run": [400, () => post("/api/run/a", "1").replace("Host: x", "Host: a/b")],
    "two Hosts": [400, () => health("Host: a", "HOST: b")],
    "two equal Hosts": [400, () => health("Host: a", "Host: a")],
    "two Hosts, on a run": [400, () => post("/api/run/a", "1", "host: x")],
    "two Hosts in HTTP/1.0": [400, () => "GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"],
    "another scheme in absolute form": [400, () => "GET foo://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n"],
    "another scheme, on a run": [400, () => post("foo://x/api/run/a", "1")],
    "an absolute form for another host, as to a proxy": [
      421,
      () => "GET http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    "an absolute form without a host": [400, () => "GET http:///healthz HTTP/1.1\r\nHost: x\r\n\r\n"],
    "an absolute form with a user": [400, () => "GET http://a@b/healthz HTTP/1.1\r\nHost: x\r\n\r\n"],
    "HTTP/2.0 in the form of HTTP/1.1": [505, () => health("Host: x").replace("1.1", "2.0")],
    "HTTP/0.9": [505, () => "GET /healthz\r\n\r\n"],
    "gzip and chunks": [501, () => `${head("/api/run/a", "Transfer-Encoding: gzip, chunked")}${chunks}`],
    "gzip in a separate header": [
      501,
      () => `${head("/api/run/a", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked")}${chunks}`,
    ],
    "gzip alone": [501, () => `${head("/api/run/a", "Transfer-Encoding: gzip")}x`],
    "gzip, on the API": [501, () => `${head("/api/tokens", "Transfer-Encoding: gzip, chunked")}${chunks}`],
    "chunks in HTTP/1.0": [
      400,
      () =>
        `${head("/api/run/a", "Connection: keep-alive", "Transfer-Encoding: chunked").replace("1.1", "1.0")}${chunks}`,
    ],
    "more than 256 headers": [431, () => `GET / HTTP/1.1\r\nHost: x\r\n${"a:\r\n".repeat(256)}\r\n`],
    CONNECT: [405, () => "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"],
    "the preface of HTTP/2": [400, () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  };
  for (const [what, [status, bytes]] of Object.entries(forbidden)) {
    it(`is rejected with a problem document, and the connection is closed: ${what}`, async () => {
      // A proxy that reads the first request in another way would take the following bytes for another request.
      const answers = split(await service.raw(bytes() + next));
      assert.equal(answers.length, 1);
      assertRefusal(answers[0]!, status);
    });
  }

  for (const target of ["/healthz\\", "/a\\b", "/api/tokens\\..", "*"]) {
    it(`is rejected with a problem document: the target ${target}`, async () => {
      const [answer] = split(await service.raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
      assertRefusal(answer!, answer!.status === 404 ? 404 : 400);
    });
  }

  it("names both maximums if headers are too many or too long", async () => {
    const [answer] = split(await service.raw(`GET / HTTP/1.1\r\nHost: x\r\n${"a:\r\n".repeat(1_000)}\r\n`));
    assert.match(
      (JSON.parse(answer!.body) as { detail: string }).detail,
      /16384 bytes of headers, or more than 256 headers/,
    );
  });

  for (const body of ["", "1"]) {
    it(`does not read what follows an Upgrade ${body ? "with a body" : "without one"}: the connection closes`, async () => {
      const upgrade = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"];
      const first = body ? post("/api/run/a", body, ...upgrade) : health("Host: x", ...upgrade);
      const answers = split(await service.raw(first + next));
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200],
      );
      assert.match(answers[0]!.head, /^connection: close/im);
    });
  }
});
