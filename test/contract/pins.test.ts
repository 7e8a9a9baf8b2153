import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";

import { type CodeServer, serveCode } from "./code-server.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord } from "./record.ts";
import { NO_WALL, type Service, startService } from "./service.ts";

const TELLS =
  "(c) => ({ method: c.method, body: c.body, data: c.data, params: c.params, url: c.url, shared: globalThis.x })";
const VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

let service: Service;
let server: CodeServer;
/** What the server gives at a path, by the path. */
const texts = new Map<string, string>();

before(async () => {
  server = await serveCode((request, response) => {
    const text = texts.get(request.url!);
    if (request.url === "/moved") response.writeHead(302, { Location: "/code" });
    else if (text === undefined) response.statusCode = 404;
    response.end(text);
  });
  service = await startService([...NO_WALL, "--egress-allow", server.address, "--token-containers", "100"]);
});
after(async () => {
  await service.stop();
  await server.close();
});

/** A token that runs what the server gives at that path, and no other code. */
function pinned(path: string, text: string, claims: object = {}): Promise<string> {
  texts.set(path, text);
  return service.issue({ containers: ["*"], code: { url: server.url + path }, ...claims });
}

async function told(target: string, options: object, method = "POST"): Promise<Record<string, unknown>> {
  const answer = await service.request(method, `/api/run/${target}`, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as Record<string, unknown>;
}

describe("a token with code at a URL", () => {
  it("runs that code by every verb, with or without a body", async () => {
    const token = await pinned("/code", TELLS);
    for (const method of VERBS) {
      assert.equal((await told("verbs", { token }, method))["method"], method);
      const { body, data } = await told("verbs?a=1", { token, json: { b: 2 } }, method);
      assert.deepEqual([body, data], [{ b: 2 }, { a: "1", b: 2 }]);
    }
  });

  it("has the request body as data, whatever the body is", async () => {
    const token = await pinned("/code", TELLS);
    const bodies: [string | undefined, string, unknown][] = [
      ["application/json", '{"code": "1", "data": [1]}', { code: "1", data: [1] }],
      ["application/json", "null", null],
      ["application/vnd.api+json; charset=utf-8", "[1, 2]", [1, 2]],
      ["application/json", '\uFEFF{"__proto__": {"a": 1}}', JSON.parse('{"__proto__": {"a": 1}}')],
      [
        "application/x-www-form-urlencoded",
        "a=1&b=2&a=3&__proto__=4&c",
        JSON.parse('{"a":["1","3"],"b":"2","__proto__":"4","c":""}'),
      ],
      ["text/plain", "process.exit(1)", "process.exit(1)"],
      [undefined, "6 * 7", "6 * 7"],
      ["application/typescript", "const", "const"],
    ];
    for (const [type, body, data] of bodies) {
      const headers = type === undefined ? {} : { "content-type": type };
      assert.deepEqual((await told("bodies", { token, body, headers }))["body"], data, `${type}: ${body}`);
    }
    assert.equal("body" in (await told("bodies", { token, body: "" })), false);
  });

  it("gets a clear answer to a body that is not what it says", async () => {
    const token = await pinned("/code", TELLS, { limits: { container: { day: 5 } } });
    const json = { "content-type": "application/json" };
    for (const body of ["{", "", `${"[".repeat(65)}${"]".repeat(65)}`, Uint8Array.of(0x22, 0xff, 0x22)].filter(
      Boolean,
    )) {
      const answer = await service.request("POST", "/api/run/broken", { token, body, headers: json });
      assertProblem(answer, 400, "request_invalid");
    }
    const large = new Uint8Array(5 * 2 ** 20);
    assert.deepEqual(await containerRecord(service, "broken", token), limitRecord({ day: 5 }));
    // Only the task's side knows that it needs all of it at once.
    assertProblem(await service.request("POST", "/api/run/broken", { token, body: large }), 400, "request_invalid");
  });

  it("gives its body to a fetch handler as it came", async () => {
    const handler = `export default { async fetch(request, env) {
      return Response.json([request.method, await request.text(), env.plan, request.headers.get("content-type")]);
    } }`;
    const token = await pinned("/handler", handler, { params: { plan: "pro" } });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const answer = await service.request("PUT", "/api/run/handler", { token, headers, body: "a=1&a=2" });
    assert.deepEqual(answer.json(), ["PUT", "a=1&a=2", "pro", headers["content-type"]]);
  });

  it("takes no code from its caller, and nothing is counted for what it is refused", async () => {
    const token = await pinned("/code", TELLS, { limits: { token: { day: 5 } } });
    const query = { task_url: `${server.url}/other` };
    for (const method of ["GET", "POST"]) {
      const answer = await service.request(method, "/api/run/strict", { token, query });
      assertProblem(answer, 400, "code_pinned");
    }
    assert.equal((await told("strict", { token, body: "globalThis.x = 1" }))["shared"], undefined);
    assert.equal((await told("strict", { token }))["shared"], undefined);
  });

  it("shares its guest with nobody, not with another token of the same code", async () => {
    const counts = "() => (globalThis.turn = (globalThis.turn ?? 0) + 1)";
    const [one, other] = [await pinned("/counts", counts), await pinned("/counts", counts)];
    const free = await service.issue({ containers: ["*"] });
    const turn = async (token: string): Promise<string> =>
      (await service.request("GET", "/api/run/own", { token })).text;
    assert.deepEqual([await turn(one), await turn(one), await turn(other)], ["1", "2", "1"]);
    assert.equal((await service.run("own", "globalThis.turn ?? 0", { token: free })).text, "0");
  });

  it("runs what the URL gives only when it has the digest that is pinned, at the end of its redirects", async () => {
    const sha256 = createHash("sha256").update(TELLS).digest("hex");
    const claims = { containers: ["*"], code: { url: `${server.url}/moved`, sha256 } };
    texts.set("/code", TELLS);
    const token = await service.issue(claims);
    assert.equal((await told("digest", { token }))["method"], "POST");
    texts.set("/code", `${TELLS} `);
    const other = await service.issue(claims);
    assertProblem(await service.request("POST", "/api/run/digest", { token: other }), 400, "code_pinned");
  });

  it("says what is wrong with the URL when it gives no code", async () => {
    const token = await service.issue({ containers: ["*"], code: { url: `${server.url}/nothing` } });
    assertProblem(await service.request("POST", "/api/run/gone", { token, body: "1" }), 400, "task_url_status");
    const elsewhere = await service.issue({ containers: ["*"], code: { url: "http://127.0.0.1:1/" } });
    assertProblem(await service.request("POST", "/api/run/gone", { token: elsewhere }), 400, "task_url_forbidden");
  });
});

describe("the params of a token", () => {
  it("are told the task, and win over what the caller says", async () => {
    const token = await service.issue({ containers: ["*"], params: { plan: "pro", seats: [1, { a: 2 }] } });
    const options = { token, json: { code: TELLS, data: { plan: "enterprise", q: 1 } } };
    const { params, data, url } = await told("params?plan=free&b=2", options);
    assert.deepEqual(params, { plan: "pro", seats: [1, { a: 2 }] });
    assert.deepEqual(data, { plan: "pro", seats: [1, { a: 2 }], q: 1, b: "2" });
    assert.doesNotMatch(String(url), /pro/);
  });

  it("are those of the tokens above, too", async () => {
    const claims = { containers: ["*"], can: ["run", "issue"], depth: 1, params: { plan: "pro" } };
    const head = await service.issue(claims);
    const request = { token: head, json: { containers: ["a"], params: { seat: 7 } } };
    const answer = await service.request("POST", "/api/tokens", request);
    const { token } = answer.json() as { token: string };
    assert.deepEqual((await told("a", { token, body: TELLS }))["params"], { seat: 7, plan: "pro" });
    const wider = await service.request("POST", "/api/tokens", {
      token: head,
      json: { containers: ["a"], params: { plan: "enterprise" } },
    });
    assertProblem(wider, 403, "token_forbidden");
  });
});
