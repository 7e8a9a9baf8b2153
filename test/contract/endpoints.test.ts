import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { CodeServer } from "./code-server.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf, limitRecord, recordOf } from "./record.ts";
import { type SharedService, shareService } from "./service.ts";

const LISTED = ["Retry-After", "RateLimit", "RateLimit-Policy", "Caisson-Run", "Caisson-Fault", "Server-Timing"];

let service: SharedService;
let code: CodeServer;

before(async () => {
  service = await shareService();
  code = service.serveCode((_, response) => response.end("6 * 7"));
});
after(async () => {
  await service.stop();
  await code.close();
});

describe("the five endpoints", () => {
  for (const method of ["POST", "PUT", "PATCH"]) {
    it(`${method} runs the code in its body`, async () => {
      const answer = await service.request(method, "/api/run/verbs", { body: "6 * 7" });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.text, "42");
    });
  }

  for (const method of ["GET", "DELETE", "POST", "PUT", "PATCH"]) {
    it(`${method} runs the code that task_url names`, async () => {
      const answer = await service.request(method, "/api/run/verbs", { query: { task_url: code.url } });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.text, "42");
    });
  }

  it("GET returns the record of a container and the record of a token", async () => {
    for (const target of ["container/quiet", `token/${jtiOf(service.admin)}`, "token/never-issued"]) {
      assert.deepEqual(recordOf(await service.request("GET", `/api/limits/${target}`)), limitRecord({}));
    }
  });

  it("DELETE returns the record after the reset", async () => {
    for (const target of ["container/quiet", `token/${jtiOf(service.admin)}`, "token/never-issued"]) {
      assert.deepEqual(recordOf(await service.request("DELETE", `/api/limits/${target}`)), limitRecord({}));
    }
  });
});

it("/healthz and /readyz answer a probe, which is served without the API, as they answer other requests", async () => {
  for (const path of ["/healthz", "/readyz"]) {
    const [probe, other] = [
      await service.request("GET", path, { token: null }),
      await service.request("GET", path, { token: null, query: { from: "elsewhere" } }),
    ];
    assert.equal(probe.status, 200, probe.text);
    assert.equal(probe.text, other.text);
    const { date: _, ...headers } = probe.headers;
    const { date: __, ...expected } = other.headers;
    assert.deepEqual(headers, expected);
  }
});

describe("other methods and paths", () => {
  const paths = {
    "/api/run/demo": ["HEAD", "TRACE", "PROPFIND", "QUERY"],
    "/api/limits/container/demo": ["HEAD", "POST", "PUT", "PATCH"],
    "/api/limits/token/demo": ["HEAD", "POST", "PUT", "PATCH"],
    "/api/tokens": ["HEAD", "PUT", "PATCH", "DELETE"],
    "/api/tokens/demo": ["HEAD", "POST", "PUT", "PATCH"],
    "/api/tokens/introspect": ["GET", "HEAD", "PUT", "DELETE"],
    "/api/containers": ["HEAD", "POST", "PUT", "DELETE"],
    "/api/containers/demo": ["HEAD", "POST"],
    "/api/containers/demo/suspend": ["GET", "HEAD", "PUT", "DELETE"],
    "/api/usage": ["HEAD", "POST", "PUT", "DELETE"],
    "/api/audit": ["HEAD", "POST", "PUT", "DELETE"],
  };
  const allowed: Record<string, readonly string[]> = {
    "/api/run/demo": ["GET", "POST", "PUT", "PATCH", "DELETE"],
    "/api/limits/container/demo": ["GET", "DELETE"],
    "/api/limits/token/demo": ["GET", "DELETE"],
    "/api/tokens": ["GET", "POST"],
    "/api/tokens/demo": ["GET", "DELETE"],
    "/api/tokens/introspect": ["POST"],
    "/api/containers": ["GET"],
    "/api/containers/demo": ["GET", "PUT", "PATCH", "DELETE"],
    "/api/containers/demo/suspend": ["POST"],
    "/api/usage": ["GET"],
    "/api/audit": ["GET"],
  };
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of methods) {
      it(`${method} ${path} is 405 and lists the allowed methods`, async () => {
        const answer = await service.request(method, path);
        assert.equal(answer.status, 405, answer.text);
        assert.equal(answer.headers["caisson-fault"], "caller");
        assert.match(answer.headers["content-type"] ?? "", /^application\/problem\+json/);
        const allow = answer.headers["allow"]!.split(/, */);
        for (const expected of allowed[path]!) assert.ok(allow.includes(expected), answer.headers["allow"]);
        assert.ok(!allow.includes(method));
        if (method === "HEAD") assert.equal(answer.text, "");
        else assertProblem(answer, 405, "method_not_allowed");
      });
    }
  }

  const unknown = ["/api", "/api/", "/api/run", "/api/runner/demo", "/api/limits"];
  const misspelt = [
    "/api/limits/container",
    "/api/limits/containers/demo",
    "/API/run/demo",
    "/api/Run/demo",
    "/nothing",
  ];
  for (const path of [...unknown, ...misspelt]) {
    it(`${path} is 404`, async () => {
      assertProblem(await service.request("GET", path), 404, "not_found");
      assertProblem(
        await service.run("demo", "1").then(() => service.request("POST", path, { body: "1" })),
        404,
        "not_found",
      );
    });
  }

  it("a method in lower case is not accepted", async () => {
    const answer = await service.raw(
      `post /api/run/demo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.admin}\r\n`,
      "Content-Length: 1\r\nConnection: close\r\n\r\n1",
    );
    assert.match(answer, /^HTTP\/1\.1 4(00|05) /);
    assert.doesNotMatch(answer, /caisson-run/i);
  });

  it("a query name in another case is not the name", async () => {
    const keyed = { token: null, query: { KEY: service.admin }, body: "1" };
    assertProblem(await service.request("POST", "/api/run/demo", keyed), 403, "token_missing");
    const named = { query: { TASK_URL: "x" }, body: "(context) => context.query.TASK_URL" };
    assert.equal((await service.request("POST", "/api/run/demo", named)).text, '"x"');
  });

  it("public paths need no token", async () => {
    const health = (await service.request("GET", "/healthz", { token: null })).json() as Record<string, string>;
    assert.deepEqual(Object.keys(health).toSorted(), ["isolation", "status", "version"]);
    assert.equal(health["isolation"], "none");
    assert.equal((await service.request("GET", "/readyz", { token: null })).status, 200);
    const keys = await service.request("GET", "/.well-known/jwks.json", { token: null });
    // RFC 7517, section 8.5.2. Clients may cache the keys, but not for long, because a key can be revoked.
    assert.equal(keys.headers["content-type"], "application/jwk-set+json");
    assert.equal(keys.headers["cache-control"], "public, max-age=60");
    assert.equal(keys.headers["access-control-allow-origin"], "*");
    const members = (keys.json() as { keys: object[] }).keys.map((key) => Object.keys(key).toSorted());
    assert.deepEqual(members, [["alg", "crv", "kid", "kty", "use", "x"]]);
  });
});

describe("pages of other origins", () => {
  const paths = [
    "/api/run/demo",
    "/api/limits/container/demo",
    "/api/limits/token/demo",
    "/api/tokens",
    "/api/tokens/x",
  ];
  for (const path of paths) {
    it(`OPTIONS ${path} answers a preflight without a token`, async () => {
      const method = path.startsWith("/api/tokens") ? (path === "/api/tokens" ? "POST" : "DELETE") : "GET";
      const answer = await service.request("OPTIONS", path, {
        token: null,
        headers: {
          origin: "https://elsewhere.example",
          "access-control-request-method": method,
          "access-control-request-headers": "authorization,content-type",
        },
      });
      assert.ok(answer.status === 204 || answer.status === 200, answer.text);
      assert.equal(answer.headers["access-control-allow-origin"], "*");
      assert.ok(answer.headers["access-control-allow-methods"]!.split(/, */).includes(method));
      assert.match(answer.headers["access-control-allow-headers"]!, /authorization/i);
      assert.match(answer.headers["access-control-allow-headers"]!, /content-type/i);
      assert.equal(answer.headers["access-control-allow-credentials"], undefined);
    });
  }

  it("answers of every kind can be read, with the headers that matter", async () => {
    const answers = await Promise.all([
      service.run("demo", "1"),
      service.run("demo", "throw 1"),
      service.run("demo", ")"),
      service.run("demo", "1", { token: null }),
      service.request("GET", "/api/limits/container/demo"),
      service.request("GET", "/api/nothing"),
      service.request("HEAD", "/api/run/demo"),
    ]);
    for (const answer of answers) {
      assert.equal(answer.headers["access-control-allow-origin"], "*");
      const exposed = answer.headers["access-control-expose-headers"]!.split(/, */);
      for (const name of LISTED) assert.ok(exposed.includes(name), name);
      assert.ok(answer.headers["caisson-version"]);
    }
  });
});

describe("query names that occur twice", () => {
  it("key twice is 400, even if both are equal", async () => {
    const target = `/api/run/demo?key=${service.admin}&key=${service.admin}`;
    const answer = await service.request("POST", target, { token: null, body: "1" });
    assert.equal(answer.status, 400);
    assert.doesNotMatch(answer.text, /eyJ/);
  });

  it("task_url twice is 400", async () => {
    const url = encodeURIComponent(code.url);
    const answer = await service.request("GET", `/api/run/demo?task_url=${url}&task_url=${url}`);
    assertProblem(answer, 400, "request_invalid");
  });
});

describe("the name of a container", () => {
  for (const name of ["a", "_x", "7", "A.b@c-d_e", "x".repeat(128), "%61%62", "a%2Db"]) {
    it(`${name.slice(0, 20)} is a valid name`, async () => {
      assert.equal((await service.run(name, "6 * 7")).text, "42");
    });
  }

  it("is percent-decoded once", async () => {
    assert.equal((await service.run("d%65coded", "(context) => context.container")).text, '"decoded"');
    assertProblem(await service.run("a%2561", "1"), 400, "container_invalid");
  });

  const wrong = [
    "-a",
    ".a",
    "@a",
    "..",
    ".",
    "a%20b",
    "a%2Fb",
    "..%2Fx",
    "%2e%2e%2fx",
    "%00",
    "%C3%BC",
    "%",
    "%zz",
    "%ff",
  ];
  for (const name of [...wrong, "a%0Ab", "a+b", "a:b", "a~b", "x".repeat(129)]) {
    it(`${name.slice(0, 20)} is not a valid name`, async () => {
      assertProblem(await service.run(name, "1"), 400, "container_invalid");
      assertProblem(await service.request("GET", `/api/limits/container/${name}`), 400, "container_invalid");
      assertProblem(await service.request("DELETE", `/api/limits/container/${name}`), 400, "container_invalid");
    });
  }

  it("ends at a slash", async () => {
    for (const path of ["/api/run/../x", "/api/run/a/../b", "/api/run/", "/api/run//x", "/api/run/x/"]) {
      const answer = await service.request("POST", path, { body: "1" });
      assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`);
      assert.equal(answer.headers["caisson-fault"], "caller");
    }
  });
});
