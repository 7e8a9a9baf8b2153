import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";

import { type Answer, respond } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord } from "./record.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const MIB = 2 ** 20;
const LARGE: Buffer = Buffer.alloc(20 * MIB, "x");
const JSON_TYPE = { "content-type": "application/json" };

let service: Service;
let token: string;

before(async () => {
  service = await startService(NO_WALL);
  token = await service.issue({ containers: ["*"], limits: { container: { week: 1_000 } } });
});
after(() => service.stop());
afterEach(async () => {
  assert.equal((await service.run("next", "6 * 7")).text, "42");
});

function head(target: string, ...headers: readonly string[]): string {
  return [`POST ${target} HTTP/1.1`, "Host: x", `Authorization: Bearer ${token}`, ...headers, "", ""].join("\r\n");
}

/** Returns the number of descriptors that the service has open. */
async function descriptors(): Promise<number> {
  return (await readdir(`/proc/${service.pid}/fd`)).length;
}

describe("malformed HTTP", () => {
  const malformed: Record<string, string> = {
    "bytes that are not HTTP": "hello\r\n\r\n",
    "TLS on a plain port": "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\r\n\r\n",
    "an unknown version": "GET /api/run/a HTTP/9.9\r\nHost: x\r\n\r\n",
    "an unknown method": "RUN /api/run/a HTTP/1.1\r\nHost: x\r\n\r\n",
    "a header without a colon": "POST /api/run/a HTTP/1.1\r\nHost: x\r\nBroken header\r\n\r\n",
    "a header with a space before its colon": "POST /api/run/a HTTP/1.1\r\nHost: x\r\nContent-Length : 1\r\n\r\n1",
    "two lengths": "POST /api/run/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12",
    "a length that is not a number": "POST /api/run/a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "a length and chunks":
      "POST /api/run/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a space in the target": "POST /api/run/a b HTTP/1.1\r\nHost: x\r\n\r\n",
    "a folded header": "POST /api/run/a HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n 2\r\n\r\n",
    "no host": "POST /api/run/a HTTP/1.1\r\nConnection: close\r\n\r\n",
  };
  for (const [what, bytes] of Object.entries(malformed)) {
    it(`is answered 400, and the connection is closed: ${what}`, async () => {
      const answer = await service.raw(bytes);
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.match(answer, /application\/problem\+json/i);
      assert.match(answer, /caisson-fault: caller/i);
    });
  }

  it("does not keep its connection open if the client does not close it", async () => {
    const quiet = await descriptors();
    const sockets = Array.from({ length: 50 }, () => {
      const socket = connect({ port: service.port, host: "127.0.0.1", allowHalfOpen: true }).resume();
      socket.write("hello\r\n\r\n");
      return socket;
    });
    await Promise.all(sockets.map((socket) => once(socket, "end")));
    await until(async () => (await descriptors()) < quiet + sockets.length / 2, "the connections are closed", 10_000);
    for (const socket of sockets) socket.destroy();
  });

  it("is rejected if a chunk has no length, in a run that was authorized", async () => {
    const answer = await service.raw(head("/api/run/chunks", "Transfer-Encoding: chunked"), "zz\r\n1\r\n0\r\n\r\n");
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.deepEqual(await containerRecord(service, "chunks", token), limitRecord({ week: 1_000 }));
  });

  it("does not hide a second request in the first", async () => {
    const smuggled = "0\r\n\r\nPOST /api/run/smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    const both = head("/api/run/smuggling", "Content-Length: 6", "Transfer-Encoding: chunked");
    assert.match(await service.raw(both, smuggled), /^HTTP\/1\.1 400 /);
  });
});

describe("an input that is too large", () => {
  it("a header of 64 KB is 431", async () => {
    const answer = await service.request("POST", "/api/run/a", {
      headers: { "x-large": "x".repeat(65_536) },
      body: "1",
    });
    assert.equal(answer.status, 431);
    assert.match(answer.headers["content-type"] ?? "", /application\/problem\+json/);
  });

  it("a thousand headers and a long target are rejected or answered, but not dropped", async () => {
    const headers = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`x-${index}`, "1"]));
    const many = await service.request("POST", "/api/run/a", { headers, body: "1" });
    assert.ok([200, 400, 431].includes(many.status), `${many.status}`);
    const long = await service.request("POST", `/api/run/${"a".repeat(10_000)}`, { body: "1" });
    assertProblem(long, 400, "container_invalid");
  });

  for (const type of ["text/plain", "application/json"]) {
    it(`a body of 100 MB is rejected and not stored, as ${type}`, async () => {
      const answer = await service.run("large", Buffer.alloc(100 * MIB, "x"), {
        token,
        headers: { "content-type": type },
      });
      const problem = assertProblem(answer, 400, "code_too_large");
      assert.match(problem.detail, /1 ?MiB|1[ ,]?048[ ,]?576|\d/);
      assert.deepEqual(await containerRecord(service, "large", token), limitRecord({ week: 1_000 }));
    });
  }

  it("a body of 100 MB in chunks and without a length is rejected", async () => {
    const headers = { "transfer-encoding": "chunked" };
    const answer = await service.run("large", Buffer.alloc(100 * MIB, "x"), { token, headers });
    assertProblem(answer, 400, "code_too_large");
  });

  it("a body whose announced length is too large is rejected before it arrives", async () => {
    const socket = connect(service.port, "127.0.0.1");
    socket.write(head("/api/run/large", `Content-Length: ${100 * MIB}`, "Expect: 100-continue"));
    const [first] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    assert.match(first.toString(), /^HTTP\/1\.1 (400|417) /);
  });

  const unread: [number, string, () => Promise<Answer>][] = [
    [
      400,
      "a body for the service itself",
      () => service.request("POST", "/api/tokens", { body: LARGE, headers: JSON_TYPE }),
    ],
    [403, "a body without a token", () => service.run("large", LARGE, { token: null })],
    [404, "a body for an unknown path", () => service.request("POST", "/api/nothing", { body: LARGE })],
    [400, "a body with a method that takes none", () => service.request("DELETE", "/api/run/large", { body: LARGE })],
  ];
  for (const [status, what, send] of unread) {
    it(`${what} is rejected, and the client always receives the answer`, async () => {
      // A server that closes while bytes still arrive resets the connection, sometimes before the client has read
      // the answer.
      for (let time = 0; time < 10; time += 1) assert.equal((await send()).status, status);
    });
  }
});

describe("a body that arrives slowly", () => {
  it("is requested with 100 Continue if the service accepts it", async () => {
    const socket = connect(service.port, "127.0.0.1");
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    socket.write(head("/api/run/continue", "Content-Length: 5", "Expect: 100-continue", "Connection: close"));
    await once(socket, "data");
    assert.match(text, /^HTTP\/1\.1 100 /);
    socket.write("6 * 7");
    await once(socket, "close");
    assert.match(text, /HTTP\/1\.1 200 OK[^]*\r\n\r\n42$/);
  });

  it("is complete even if it arrives byte by byte", async () => {
    const socket = connect(service.port, "127.0.0.1");
    socket.setNoDelay(true);
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    for (const byte of head("/api/run/slow", "Content-Length: 5", "Connection: close") + "6 * 7") {
      await new Promise((resolve) => socket.write(byte, resolve));
    }
    await once(socket, "close");
    assert.match(text, /^HTTP\/1\.1 200 OK[^]*\r\n\r\n42$/);
  });

  it("delays no other caller and counts nothing if it never arrives", async () => {
    const sockets = Array.from({ length: 100 }, () => connect(service.port, "127.0.0.1"));
    await Promise.all(
      sockets.map(
        (socket) => new Promise((sent) => socket.write(`${head("/api/run/stalled", "Content-Length: 9")}6 *`, sent)),
      ),
    );
    assert.equal((await service.run("stalled", "6 * 7", { token })).text, "42");
    assert.deepEqual(await containerRecord(service, "stalled", token), limitRecord({ week: 999 }));
    for (const socket of sockets) socket.destroy();
  });
});

describe("a connection that is closed", () => {
  it("in the middle of its head or its body costs nothing", async () => {
    for (const bytes of [
      "POST /api/ru",
      head("/api/run/gone").slice(0, -2),
      `${head("/api/run/gone", "Content-Length: 9")}6 *`,
    ]) {
      const socket = connect(service.port, "127.0.0.1");
      await new Promise((resolve) => socket.write(bytes, resolve));
      socket.destroy();
      await once(socket, "close");
    }
    assert.equal((await service.run("gone", "6 * 7")).text, "42");
    assert.deepEqual(await containerRecord(service, "gone", token), limitRecord({ week: 999 }));
  });

  it("in the middle of a stream ends only the stream", async () => {
    const code = "new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(65_536)) } }))";
    for (let time = 0; time < 5; time += 1) {
      const response = await respond(service.port, "POST", "/api/run/cut", { token, body: code });
      await once(response, "data");
      response.destroy();
    }
    assert.equal((await service.run("cut", "6 * 7")).text, "42");
  });
});

describe("one connection", () => {
  it("answers pipelined requests in their order, valid and invalid", async () => {
    const requests = [
      `${head("/api/run/line", "Content-Length: 50")}await new Promise((end) => setTimeout(end, 40, 1))`,
      `${head("/api/run/line", "Content-Length: 1")}2`,
      `${head("/api/run/%00", "Content-Length: 1")}3`,
      `${head("/api/run/line", "Content-Length: 1", "Connection: close")}4`,
    ];
    const answer = await service.raw(requests.join(""));
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
    assert.deepEqual(statuses, ["200", "200", "400", "200"]);
    assert.match(answer, /\r\n\r\n1HTTP[^]*\r\n\r\n2HTTP[^]*\r\n\r\n4$/);
  });

  it("stays usable after a rejected request whose body was not read", async () => {
    const refused = `${head("/api/run/%00", "Content-Length: 6")}unread`;
    const answer = await service.raw(
      refused,
      `${head("/api/run/line", "Content-Length: 5", "Connection: close")}6 * 7`,
    );
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.ok(answer.endsWith("\r\n\r\n42") || /connection: close/i.test(answer), answer);
    assert.doesNotMatch(answer, /unread/);
  });
});

describe("the name of a container in a raw target", () => {
  for (const target of [
    "/api/run/../x",
    "/api/run/./x",
    "/api/run/..%2fx",
    "/api/run/%2e%2e/x",
    "/api/run/a\\..\\x",
    "//api/run/x",
    "/api/run/x#a",
    "*",
    "http://other/api/run/../../x",
  ]) {
    it(`${target} does not lead to another path`, async () => {
      const answer = await service.raw(`${head(target, "Content-Length: 1", "Connection: close")}1`);
      assert.match(answer, /^HTTP\/1\.1 4(?:0[04]|21) /);
      assert.doesNotMatch(answer, /Server-Timing: .*desc/i);
    });
  }
});
