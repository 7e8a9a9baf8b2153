import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";

import { egressPolicy } from "../../src/egress/policy.ts";
import { allowing, assertProblem, fetchFrom, fetchSource, LIMITS, problemOf } from "./fetching.ts";
import { serveHttp } from "./servers.ts";

describe("fetchSource", () => {
  it("returns the text, its media type and its URL", async (context) => {
    const port = await serveHttp(context, (_request, response) => {
      response.setHeader("Content-Type", "text/javascript; charset=utf-8").end("6 * 7");
    });
    assert.deepEqual(await fetchFrom(port, "/a.js?x=1#fragment"), {
      bytes: Buffer.from("6 * 7"),
      contentType: "text/javascript; charset=utf-8",
      url: `http://127.0.0.1:${port}/a.js?x=1`,
    });
  });

  it("identifies the service only by its name, and uses a new connection", async (context) => {
    let received: unknown;
    const port = await serveHttp(context, (request, response) => {
      received = { method: request.method, url: request.url, headers: request.headers };
      response.end("6");
    });
    await fetchFrom(port, "/p?q=%20");
    assert.deepEqual(received, {
      method: "GET",
      url: "/p?q=%20",
      headers: {
        host: `127.0.0.1:${port}`,
        "user-agent": "caisson",
        accept: "*/*",
        "accept-encoding": "gzip, deflate, br, zstd",
        connection: "close",
      },
    });
  });

  it("removes a byte-order mark and the text of a first line #!", async (context) => {
    const port = await serveHttp(context, (_request, response) => response.end("\uFEFF#!/usr/bin/env node\n6 * 7"));
    const { bytes, contentType } = await fetchFrom(port);
    assert.equal(bytes.toString(), "\n6 * 7");
    assert.equal(contentType, null);
  });

  it("decodes every content coding that it accepts", async (context) => {
    const codings = {
      gzip: gzipSync,
      "X-GZIP": gzipSync,
      deflate: deflateSync,
      br: brotliCompressSync,
      zstd: zstdCompressSync,
    };
    for (const [coding, compress] of Object.entries(codings)) {
      const port = await serveHttp(context, (_request, response) => {
        response.setHeader("Content-Encoding", coding).end(compress("6 * 7"));
      });
      assert.equal((await fetchFrom(port)).bytes.toString(), "6 * 7", coding);
    }
  });
});

describe("a task_url", () => {
  it("must be an http: or https: URL without user and password, within the maximum length", async () => {
    const policy = allowing();
    for (const [url, detail] of [
      ["", /not an absolute URL/],
      ["/relative.js", /not an absolute URL/],
      ["example.com/x.js", /not an absolute URL/],
      ["http://", /not an absolute URL/],
      ["http://[::1", /not an absolute URL/],
      ["http://a b/", /not an absolute URL/],
      ["http://example.com:99999/", /not an absolute URL/],
      ["http://[fe80::1%25eth0]/", /not an absolute URL/],
      ["ftp://example.com/x.js", /scheme "ftp:"/],
      ["file:///etc/passwd", /scheme "file:"/],
      ["data:text/javascript,42", /scheme "data:"/],
      ["javascript:42", /scheme "javascript:"/],
      ["blob:https://example.com/1", /scheme "blob:"/],
      ["https://user@example.com/", /user name or a password/],
      ["https://:hunter2@example.com/", /user name or a password/],
      [`https://example.com/${"x".repeat(2_029)}`, /2049 characters; at most 2048/],
    ] as const) {
      const problem = await problemOf(fetchSource(url, policy, LIMITS));
      assert.equal(problem.code, "task_url_invalid", url);
      assert.match(problem.message, detail);
      assert.ok(!problem.message.includes("hunter2"));
    }
  });

  it("must resolve to a public address, in any spelling of the host", async () => {
    const policy = egressPolicy({ mode: "public", allow: [] });
    for (const host of [
      ...["127.0.0.1", "127.1", "2130706433", "0177.0.0.1", "0x7f.1", "127.0.0.1.", "%31%32%37.0.0.1", "１２７.1"],
      ...["[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fd00:ec2::254]"],
      ...["169.254.169.254", "168.63.129.16", "100.100.100.200", "10.0.0.1", "0.0.0.0", "0", "localhost"],
    ]) {
      await assertProblem(fetchSource(`http://${host}/`, policy, LIMITS), "task_url_forbidden", /not public/);
    }
    await assertProblem(fetchSource("http://8.8.8.8:22/", policy, LIMITS), "task_url_forbidden", /port 22/);
    await assertProblem(fetchSource("http://8.8.8.8:0/", policy, LIMITS), "task_url_forbidden", /port 0/);
  });

  it("is reported by its host, never by the addresses of the host", async () => {
    const policy = egressPolicy({ mode: "public", allow: [], resolver: async () => [{ address: "10.99.88.77" }] });
    const problem = await problemOf(fetchSource("https://db.example/secret?k=v", policy, LIMITS));
    assert.equal(problem.message, '"db.example" resolves to an address that is not public');
    assert.match(problem.options.hint ?? "", /--egress-allow/);
  });

  it("whose DNS answer changes is dialled at the address that was checked", async (context) => {
    const good = await serveHttp(context, (_request, response) => response.end("'checked'"));
    let lookups = 0;
    const policy = egressPolicy({
      mode: "public",
      allow: [{ host: "rebound.test", port: good }],
      // Nothing on this machine listens at 127.0.0.2 on the test's port: a fetch that used the second answer would
      // fail.
      resolver: async () => [{ address: ++lookups === 1 ? "127.0.0.1" : "127.0.0.2" }],
    });
    const { bytes } = await fetchSource(`http://rebound.test:${good}/`, policy, LIMITS);
    assert.equal(bytes.toString(), "'checked'");
    assert.equal(lookups, 1);
  });

  it("is fetched from the first address of its host that accepts the connection", async (context) => {
    const port = await serveHttp(context, (request, response) => response.end(`"${request.headers.host}"`));
    const policy = egressPolicy({
      mode: "public",
      allow: [{ host: "two.test", port }],
      resolver: async () => [{ address: "127.0.0.2" }, { address: "127.0.0.1" }],
    });
    const { bytes } = await fetchSource(`http://two.test:${port}/`, policy, LIMITS);
    assert.equal(bytes.toString(), `"two.test:${port}"`);
  });
});

describe("a fetched text", () => {
  const notCode: readonly [string, string | Buffer, RegExp][] = [
    ["text/html; charset=utf-8", "6 * 7", /an HTML page$/],
    ["application/xhtml+xml", "6 * 7", /an HTML page$/],
    ["text/plain", "\uFEFF\n <!DOCTYPE html><p>", /an HTML page$/],
    ["text/plain", "<HTML lang=en>", /an HTML page$/],
    ["text/plain", "<!-- a comment -->\n<html>", /an HTML page$/],
    ["text/plain", '<?xml version="1.0"?>\n<!DOCTYPE html>', /an HTML page$/],
    ["application/xml", '<?xml version="1.0"?><Error/>', /an XML document$/],
    ["text/plain", "", /returned blank text$/],
    ["text/plain", "\uFEFF \n", /returned blank text$/],
    ["text/plain", "#!/usr/bin/env node\n", /returned blank text$/],
    ["image/png", Buffer.from([0x89, 0x50, 0x4e, 0x47]), /not UTF-8/],
  ];

  it("must be text that can be code, and not a page or a document", async (context) => {
    const port = await serveHttp(context, (request, response) => {
      const [type, body] = notCode[Number(request.url!.slice(1))]!;
      response.setHeader("Content-Type", type).end(body);
    });
    for (const [at, [, , detail]] of notCode.entries()) {
      const problem = await problemOf(fetchFrom(port, `/${at}`));
      assert.equal(problem.code, "task_url_not_code", String(at));
      assert.match(problem.message, detail);
      if (problem.message.includes("HTML")) assert.match(problem.options.hint ?? "", /raw file/);
    }
  });

  it("may have any other media type, and may contain markup", async (context) => {
    const port = await serveHttp(context, (_request, response) => {
      response.setHeader("Content-Type", "application/octet-stream").end("'<!doctype html>'");
    });
    assert.equal((await fetchFrom(port)).bytes.toString(), "'<!doctype html>'");
  });
});
