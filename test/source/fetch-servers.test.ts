import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";

import { egressPolicy } from "../../src/egress/policy.ts";
import { allowing, assertProblem, fetchFrom, fetchSource, LIMITS } from "./fetching.ts";
import { closedPort, serveHttp, serveRaw } from "./servers.ts";

describe("a server", () => {
  it("that answers with a status other than 2xx is reported with that status", async (context) => {
    const port = await serveHttp(context, (request, response) => {
      response.writeHead(Number(request.url!.slice(1))).end("6 * 7");
    });
    for (const status of [400, 401, 404, 410, 500, 503]) {
      await assertProblem(fetchFrom(port, `/${status}`), "task_url_status", new RegExp(`^"127.0.0.1" .* ${status}$`));
    }
    assert.equal((await fetchFrom(port, "/203")).bytes.toString(), "6 * 7");
  });

  it("that does not listen, or whose name does not resolve, is reported as unreachable", async () => {
    await assertProblem(fetchFrom(await closedPort()), "task_url_unreachable", /^"127.0.0.1" refused the connection$/);
    const policy = egressPolicy({ mode: "public", allow: [] });
    await assertProblem(
      fetchSource("http://nowhere.invalid/", policy, LIMITS),
      "task_url_unreachable",
      /^"nowhere.invalid" is a name that does not resolve$/,
    );
  });

  it("that never answers, or whose DNS never answers, times out", async (context) => {
    const port = await serveRaw(context, () => {});
    await assertProblem(fetchFrom(port, "/", { totalMs: 50 }), "task_url_unreachable", /in full within 50 ms$/);
    const policy = egressPolicy({ mode: "public", allow: [], resolver: () => new Promise(() => {}) });
    const limits = { ...LIMITS, connectMs: 50 };
    await assertProblem(fetchSource("http://slow.test/", policy, limits), "task_url_unreachable", /within 50 ms$/);
  });

  it("that accepts the connection but never completes TLS times out as a connection", async (context) => {
    const port = await serveRaw(context, () => {});
    await assertProblem(
      fetchSource(`https://127.0.0.1:${port}/`, allowing(port), { ...LIMITS, connectMs: 50 }),
      "task_url_unreachable",
      /did not connect within 50 ms$/,
    );
  });

  it("that sends its body too slowly times out, and its connection is closed", async (context) => {
    const closed = Promise.withResolvers<void>();
    const port = await serveHttp(context, (request, response) => {
      const drip = setInterval(() => response.write(" "), 5);
      request.socket.once("close", () => {
        clearInterval(drip);
        closed.resolve();
      });
    });
    await assertProblem(fetchFrom(port, "/", { totalMs: 100 }), "task_url_unreachable", /in full within 100 ms$/);
    await closed.promise;
  });

  it("whose body never ends is stopped at the limit, and its connection is closed", async (context) => {
    const closed = Promise.withResolvers<void>();
    const port = await serveHttp(context, (request, response) => {
      const flood = (): void => {
        while (!response.destroyed && response.write("x".repeat(16_384)));
      };
      response.on("drain", flood);
      request.socket.once("close", () => closed.resolve());
      flood();
    });
    await assertProblem(fetchFrom(port), "task_url_too_large", /more than the 10000 bytes/);
    await closed.promise;
  });

  it("that makes much work with few bytes is stopped, and its connection is closed", async (context) => {
    const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const [start, piece, detail] of [
      ["", "HTTP/1.1 103 Early Hints\r\n\r\n", /^"127.0.0.1" sends too many interim answers$/],
      [head, "1\r\nx\r\n", /^"127.0.0.1" sends its body in pieces that are too small$/],
    ] as const) {
      const closed = Promise.withResolvers<void>();
      const port = await serveRaw(context, (socket) => {
        const pieces = piece.repeat(10_000);
        const flood = (): void => {
          while (!socket.destroyed && socket.write(pieces));
        };
        socket.on("drain", flood).once("close", () => closed.resolve());
        socket.once("data", () => {
          socket.write(start);
          flood();
        });
      });
      await assertProblem(fetchFrom(port), "task_url_unreachable", detail);
      await closed.promise;
    }
  });

  it("may send a few interim answers and many small pieces", async (context) => {
    const port = await serveRaw(context, (socket) => {
      const interim = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(16);
      const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
      socket.once("data", () => socket.end(`${interim}${head}${"1\r\n7\r\n".repeat(1_024)}0\r\n\r\n`));
    });
    assert.equal((await fetchFrom(port)).bytes.toString(), "7".repeat(1_024));
  });

  it("may send as many bytes as the limit allows, and no more, with or without Content-Length", async (context) => {
    const port = await serveHttp(context, (request, response) => {
      const [, framing, length] = request.url!.split("/");
      if (framing === "length") response.setHeader("Content-Length", length!);
      response.write("x".repeat(Number(length) - 1));
      response.end("x");
    });
    for (const framing of ["length", "chunked"]) {
      assert.equal((await fetchFrom(port, `/${framing}/10000`)).bytes.length, 10_000);
      await assertProblem(fetchFrom(port, `/${framing}/10001`), "task_url_too_large", /10000 bytes/);
    }
  });

  it("that sends a decompression bomb of any coding is stopped at the limit", async (context) => {
    const zeros = Buffer.alloc(20_000_000, "x");
    const bombs: Record<string, Buffer> = {
      gzip: gzipSync(zeros),
      deflate: deflateSync(zeros),
      br: brotliCompressSync(zeros),
      zstd: zstdCompressSync(zeros),
    };
    const port = await serveHttp(context, (request, response) => {
      const coding = request.url!.slice(1);
      response.setHeader("Content-Encoding", coding).end(bombs[coding]);
    });
    for (const [coding, bomb] of Object.entries(bombs)) {
      const maxBytes = bomb.length + 1;
      await assertProblem(fetchFrom(port, `/${coding}`, { maxBytes }), "task_url_too_large", /more than the/);
    }
  });

  it("whose body is incomplete or malformed is reported, and no part of the code is returned", async (context) => {
    const whole = gzipSync("6 * 7".repeat(1_000));
    const bodies: Record<string, [string, Buffer | string]> = {
      "cut gzip": ["gzip", whole.subarray(0, -20)],
      "no gzip": ["gzip", "6 * 7"],
      "no deflate": ["deflate", "6 * 7"],
      "no br": ["br", Buffer.alloc(50, 0xff)],
      "no zstd": ["zstd", "6 * 7"],
    };
    const port = await serveHttp(context, (request, response) => {
      const [coding, body] = bodies[decodeURI(request.url!.slice(1))]!;
      response.setHeader("Content-Encoding", coding).end(body);
    });
    for (const name of Object.keys(bodies)) {
      await assertProblem(fetchFrom(port, `/${encodeURI(name)}`), "task_url_unreachable", /cannot be decompressed$/);
    }
    const short = await serveRaw(context, (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n6 * 7"));
    await assertProblem(fetchFrom(short), "task_url_unreachable", /closed the connection before/);
  });

  it("that answers in an unknown coding, or in several codings, is rejected", async (context) => {
    const port = await serveHttp(context, (request, response) => {
      response.setHeader("Content-Encoding", decodeURIComponent(request.url!.slice(1))).end("6 * 7");
    });
    for (const coding of ["compress", "gzip, gzip", "__proto__"]) {
      await assertProblem(fetchFrom(port, `/${encodeURIComponent(coding)}`), "task_url_unreachable", /content coding/);
    }
  });

  it("that breaks HTTP, closes the connection, sends a huge head or switches protocols is reported clearly", async (context) => {
    for (const [answer, detail] of [
      ["SSH-2.0-OpenSSH\r\n", /HTTP/],
      ["", /closed the connection/],
      ["HTTP/1.1 200 OK\r\nX: ", /closed the connection|HTTP/],
      [`HTTP/1.1 200 OK\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, /HTTP/],
      ["HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", /closed the connection/],
      ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", /HTTP/],
    ] as const) {
      const port = await serveRaw(context, (socket) => {
        socket.once("data", () => socket.end(answer));
      });
      await assertProblem(fetchFrom(port), "task_url_unreachable", detail);
    }
  });
});
