import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";

import { type CodeServer, serveCode } from "./code-server.ts";
import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { tokenRecord } from "./record.ts";
import { type SharedService, shareService } from "./service.ts";

const MIB = 2 ** 20;

let service: SharedService;
let code: CodeServer;
let other: CodeServer;
let closed: string;

before(async () => {
  other = await serveCode((_, response) => response.end("'reached'"));
  service = await shareService();
  const gone = service.serveCode(() => {});
  closed = gone.address;
  await gone.close();
  code = service.serveCode((request, response) => {
    const path = new URL(request.url!, "http://x").pathname;
    const page = PAGES[path.slice(1)];
    if (page) page(response);
    else response.end(decodeURIComponent(path.slice(1)));
  });
});
after(async () => {
  await service.stop();
  await code.close();
  await other.close();
});

const PAGES: Record<string, (response: ServerResponse) => void> = {
  absent: (response) => response.writeHead(404).end("6 * 7"),
  broken: (response) => response.writeHead(500).end("6 * 7"),
  html: (response) => response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><p>6 * 7"),
  undeclared: (response) => response.end("<!DOCTYPE html>\n<p>6 * 7"),
  latin: (response) => response.end(Buffer.from([0x22, 0xff, 0x22])),
  blank: (response) => response.end(" \n"),
  marked: (response) => response.end("\uFEFF#!/usr/bin/env node\n6 * 7"),
  typed: (response) =>
    response.writeHead(200, { "content-type": "application/typescript" }).end("const n: number = 42; return n"),
  zipped: (response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("6 * 7")),
  bomb: (response) =>
    response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(64 * MIB, " "))),
  torn: (response) => {
    response.writeHead(200, { "content-length": 100 }).write("6 * 7");
    response.socket!.end();
  },
  exact: (response) => response.end(`42 //${"x".repeat(MIB - 5)}`),
  large: (response) => response.end(`42 //${"x".repeat(MIB - 4)}`),
  announced: (response) => response.writeHead(200, { "content-length": 50 * MIB }).write("6 * 7"),
  endless: (response) => {
    const more = (): void => {
      while (response.write(" ".repeat(16_384))) if (response.destroyed) return;
      response.once("drain", more);
    };
    more();
  },
  dripping: (response) => {
    const timer = setInterval(() => response.write(" "), 100);
    response.on("close", () => clearInterval(timer));
  },
  silent: () => {},
  fresh: (response) => response.writeHead(200, { "cache-control": "no-store" }).end(`${code.requests.length}`),
  loop: (response) => response.writeHead(302, { location: "/loop" }).end(),
  lost: (response) => response.writeHead(302).end(),
  "hop-4": (response) => response.writeHead(301, { location: "/hop-3" }).end(),
  "hop-3": (response) => response.writeHead(302, { location: "hop-2" }).end(),
  "hop-2": (response) => response.writeHead(307, { location: `${code.url}/hop-1` }).end(),
  "hop-1": (response) => response.writeHead(308, { location: "/6*7" }).end(),
  away: (response) => response.writeHead(302, { location: other.url }).end(),
  metadata: (response) => response.writeHead(302, { location: "http://169.254.169.254/latest" }).end(),
  file: (response) => response.writeHead(302, { location: "file:///etc/passwd" }).end(),
};

function runFrom(path: string, method = "GET"): Promise<Answer> {
  return runUrl(`${code.url}/${path}`, method);
}

function runUrl(url: string, method = "GET"): Promise<Answer> {
  return service.request(method, "/api/run/fetched", { query: { task_url: url } });
}

async function runUnder(net: unknown, page: string): Promise<Answer> {
  const token = await service.issue({ containers: ["fetched"], net });
  return service.request("GET", "/api/run/fetched", { query: { task_url: `${code.url}/${page}` }, token });
}

describe("code from task_url", () => {
  it("runs, and the rest of the query is for the task", async () => {
    assert.equal((await runFrom("6*7")).text, "42");
    const query = { task_url: `${code.url}/(c)=>c.query`, a: "1" };
    assert.deepEqual((await service.request("GET", "/api/run/fetched", { query })).json(), { a: "1" });
  });

  for (const page of ["marked", "typed", "zipped", "exact", "hop-1", "hop-2", "hop-3"]) {
    it(`runs if it is ${page}`, async () => {
      const answer = await runFrom(page);
      assert.equal(answer.text, "42");
    });
  }

  it("is requested without the credentials of the caller", async () => {
    const target = `/api/run/fetched?key=${service.admin}&task_url=${encodeURIComponent(`${code.url}/7`)}`;
    const headers = { cookie: "a=b", "x-mine": "yes", referer: "http://x/" };
    assert.equal((await service.request("GET", target, { token: null, headers })).text, "7");
    assert.equal(
      (await service.request("GET", "/api/run/fetched", { query: { task_url: `${code.url}/8` }, headers })).text,
      "8",
    );
    for (const request of code.requests) {
      assert.doesNotMatch(JSON.stringify(request.rawHeaders) + request.url, /eyJ|cookie|x-mine|referer|authorization/i);
      assert.equal(request.method, "GET");
    }
  });

  it("is requested again if it may not be stored", async () => {
    const [first, second] = [await runFrom("fresh"), await runFrom("fresh")];
    assert.equal(Number(second.text), Number(first.text) + 1);
  });
});

describe("an invalid URL", () => {
  const invalid = ["", "x", "/relative", "//host/x", "ftp://example.com/x", "file:///etc/passwd", "data:text/plain,1"];
  for (const url of [
    ...invalid,
    "javascript:1",
    "http://",
    "http://user@example.com/",
    "http://user:pass@example.com/",
  ]) {
    it(`is rejected: ${url}`, async () => {
      assertProblem(await runUrl(url), 400, "task_url_invalid");
    });
  }
});

describe("an address that is not allowed", () => {
  const literal = ["127.0.0.1", "[::1]", "0.0.0.0", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "127.255.255.254"];
  const wrapped = ["[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::ffff:0:7f00:1]"];
  const ranges = [
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "168.63.129.16",
  ];
  for (const host of [...literal, ...wrapped, ...ranges, "[fd00::1]", "[fe80::1]", "localhost", "LOCALHOST."]) {
    it(`is not reached: ${host}`, async () => {
      // On a port of the web only the address is forbidden. On the other port a server would answer.
      for (const port of [80, new URL(other.url).port]) {
        const problem = assertProblem(await runUrl(`http://${host}:${port}/`), 400, "task_url_forbidden");
        if (/localhost/i.test(host)) assert.doesNotMatch(problem.detail, /127\.0\.0\.1|::1/);
      }
      assert.equal(other.requests.length, 0);
    });
  }

  for (const page of ["away", "metadata"]) {
    it(`is not reached by a redirect: ${page}`, async () => {
      assertProblem(await runFrom(page), 400, "task_url_forbidden");
      assert.equal(other.requests.length, 0);
    });
  }
});

describe("the net claim of a token", () => {
  it("lets task_url reach only what it names", async () => {
    assert.equal((await runUnder([code.address], "6*7")).text, "42");
    assert.equal((await runUnder(["127.0.0.1"], "6*7")).text, "42");
    const elsewhere = [["api.example.com"], ["127.0.0.1:1"], ["localhost"], false];
    for (const net of elsewhere) {
      const earlierRequests = code.requests.length;
      const problem = assertProblem(await runUnder(net, "6*7"), 400, "task_url_forbidden");
      assert.match(problem.detail, /token/);
      assert.equal(code.requests.length, earlierRequests);
    }
  });

  it("does not open what the policy of the operator refuses, and applies to redirects", async () => {
    assertProblem(await runUnder([code.address, other.address], "away"), 400, "task_url_forbidden");
    assertProblem(await runUnder([code.address], "metadata"), 400, "task_url_forbidden");
    assert.equal(other.requests.length, 0);
  });
});

describe("a server that returns no code", () => {
  const pages: Record<string, string> = {
    absent: "task_url_status",
    broken: "task_url_status",
    html: "task_url_not_code",
    undeclared: "task_url_not_code",
    latin: "task_url_not_code",
    large: "task_url_too_large",
    announced: "task_url_too_large",
    endless: "task_url_too_large",
    bomb: "task_url_too_large",
    torn: "task_url_unreachable",
    loop: "task_url_unreachable",
    "hop-4": "task_url_unreachable",
  };
  for (const [page, expected] of Object.entries(pages)) {
    it(`gives a specific error: ${page} is ${expected}`, async () => {
      const problem = assertProblem(await runFrom(page), 400, expected);
      if (page === "absent") assert.match(problem.detail, /\b404\b/);
    });
  }

  for (const page of ["blank", "lost", "file"]) {
    it(`is rejected: ${page}`, async () => {
      const answer = await runFrom(page);
      assert.equal(answer.status, 400, answer.text);
      assertProblem(answer, 400, (answer.json() as { code: string }).code);
    });
  }

  it("is rejected if nothing listens", async () => {
    assertProblem(await runUrl(`http://${closed}/`), 400, "task_url_unreachable");
  });

  it("is given up if its answer never ends, silent or slow, and other runs are served", async () => {
    const slow = [runFrom("silent"), runFrom("dripping")];
    assert.equal((await runFrom("6*7")).text, "42");
    for (const answer of await Promise.all(slow)) assertProblem(answer, 400, "task_url_unreachable");
  });

  it("is rejected if its name does not exist", async () => {
    assertProblem(await runUrl("http://no-such-name.invalid/"), 400, "task_url_unreachable");
  });
});

describe("the count of a run by task_url", () => {
  it("is one, for any number of redirects, with and without code", async () => {
    const token = await service.issue({ containers: ["*"], limits: { token: { day: 100 } } });
    for (const [index, page] of ["6*7", "hop-3", "loop", "absent", "away"].entries()) {
      await service.request("GET", "/api/run/fetched", { token, query: { task_url: `${code.url}/${page}` } });
      assert.equal((await tokenRecord(service, token)).day, 99 - index, page);
    }
  });
});
