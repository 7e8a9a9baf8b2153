import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";

import type { CodeServer } from "./code-server.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord } from "./record.ts";
import { type SharedService, shareService } from "./service.ts";

const ECHO =
  "(c) => ({ method: c.method, body: c.body, data: c.data, params: c.params, url: c.url, shared: globalThis.x })";
const VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

let service: SharedService;
let server: CodeServer;
/** The text that the server returns for each path. */
const texts = new Map<string, string>();

before(async () => {
  service = await shareService();
  server = service.serveCode((request, response) => {
    const text = texts.get(request.url!);
    if (request.url === "/moved") response.writeHead(302, { Location: "/code" });
    else if (text === undefined) response.statusCode = 404;
    response.end(text);
  });
});
after(async () => {
  await service.stop();
  await server.close();
});

/** Issues a token that runs only the code that the server returns for that path. */
function pinned(path: string, text: string, claims: object = {}): Promise<string> {
  texts.set(path, text);
  return service.issue({ containers: ["*"], code: { url: server.url + path }, ...claims });
}

async function runJson(target: string, options: object, method = "POST"): Promise<Record<string, unknown>> {
  const answer = await service.request(method, `/api/run/${target}`, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as Record<string, unknown>;
}

describe("a token with code at a URL", () => {
  it("runs that code by every method, with or without a body", async () => {
    const token = await pinned("/code", ECHO);
    for (const method of VERBS) {
      assert.equal((await runJson("verbs", { token }, method))["method"], method);
      const { body, data } = await runJson("verbs?a=1", { token, json: { b: 2 } }, method);
      assert.deepEqual([body, data], [{ b: 2 }, { a: "1", b: 2 }]);
    }
  });

  it("has the request body as data, whatever the body is", async () => {
    const token = await pinned("/code", ECHO);
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
      // As curl -d sends JSON.
      ["application/x-www-form-urlencoded", '{"a": [1], "b=": "&"}', { a: [1], "b=": "&" }],
      ["application/x-www-form-urlencoded", " [1, 2]\n", [1, 2]],
      ["application/x-www-form-urlencoded", '{"a": 1', { '{"a": 1': "" }],
      ["application/x-www-form-urlencoded", "%7B%22a%22%3A1%7D", { '{"a":1}': "" }],
      ["application/x-www-form-urlencoded", "5", { 5: "" }],
      ["text/plain", "process.exit(1)", "process.exit(1)"],
      [undefined, "6 * 7", "6 * 7"],
      ["application/typescript", "const", "const"],
    ];
    for (const [type, body, data] of bodies) {
      const headers = type === undefined ? {} : { "content-type": type };
      assert.deepEqual((await runJson("bodies", { token, body, headers }))["body"], data, `${type}: ${body}`);
    }
    assert.equal("body" in (await runJson("bodies", { token, body: "" })), false);
  });

  it("rejects a body that does not match its type", async () => {
    const token = await pinned("/code", ECHO, { limits: { container: { day: 5 } } });
    const json = { "content-type": "application/json" };
    for (const body of ["{", "", `${"[".repeat(65)}${"]".repeat(65)}`, Uint8Array.of(0x22, 0xff, 0x22)].filter(
      Boolean,
    )) {
      const answer = await service.request("POST", "/api/run/broken", { token, body, headers: json });
      assertProblem(answer, 400, "request_invalid");
    }
    const large = new Uint8Array(5 * 2 ** 20);
    assert.deepEqual(await containerRecord(service, "broken", token), limitRecord({ day: 5 }));
    // Only the guest detects that the task needs the whole body at once.
    assertProblem(await service.request("POST", "/api/run/broken", { token, body: large }), 400, "request_invalid");
  });

  it("passes its body to a fetch handler without change", async () => {
    const handler = `export default { async fetch(request, env) {
      return Response.json([request.method, await request.text(), env.plan, request.headers.get("content-type")]);
    } }`;
    const token = await pinned("/handler", handler, { params: { plan: "pro" } });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const answer = await service.request("PUT", "/api/run/handler", { token, headers, body: "a=1&a=2" });
    assert.deepEqual(answer.json(), ["PUT", "a=1&a=2", "pro", headers["content-type"]]);
  });

  it("accepts no code from its caller, and a rejected run is not counted", async () => {
    const token = await pinned("/code", ECHO, { limits: { token: { day: 5 } } });
    const query = { task_url: `${server.url}/other` };
    for (const method of ["GET", "POST"]) {
      const answer = await service.request(method, "/api/run/strict", { token, query });
      assertProblem(answer, 400, "code_pinned");
    }
    assert.equal((await runJson("strict", { token, body: "globalThis.x = 1" }))["shared"], undefined);
    assert.equal((await runJson("strict", { token }))["shared"], undefined);
  });

  it("shares its guest with no other token, not even with a token for the same code", async () => {
    const counts = "() => (globalThis.turn = (globalThis.turn ?? 0) + 1)";
    const [one, other] = [await pinned("/counts", counts), await pinned("/counts", counts)];
    const free = await service.issue({ containers: ["*"] });
    const turn = async (token: string): Promise<string> =>
      (await service.request("GET", "/api/run/own", { token })).text;
    assert.deepEqual([await turn(one), await turn(one), await turn(other)], ["1", "2", "1"]);
    assert.equal((await service.run("own", "globalThis.turn ?? 0", { token: free })).text, "0");
  });

  it("runs what the URL returns only if it has the pinned digest, after all redirects", async () => {
    const sha256 = createHash("sha256").update(ECHO).digest("hex");
    const claims = { containers: ["*"], code: { url: `${server.url}/moved`, sha256 } };
    texts.set("/code", ECHO);
    const token = await service.issue(claims);
    assert.equal((await runJson("digest", { token }))["method"], "POST");
    texts.set("/code", `${ECHO} `);
    const other = await service.issue(claims);
    assertProblem(await service.request("POST", "/api/run/digest", { token: other }), 400, "code_pinned");
  });

  it("reports the fault of the URL if it returns no code", async () => {
    const token = await service.issue({ containers: ["*"], code: { url: `${server.url}/nothing` } });
    assertProblem(await service.request("POST", "/api/run/gone", { token, body: "1" }), 400, "task_url_status");
    const elsewhere = await service.issue({ containers: ["*"], code: { url: "http://127.0.0.1:1/" } });
    assertProblem(await service.request("POST", "/api/run/gone", { token: elsewhere }), 400, "task_url_forbidden");
  });
});

describe("the params of a token", () => {
  it("are passed to the task, and override what the caller sends", async () => {
    const token = await service.issue({ containers: ["*"], params: { plan: "pro", seats: [1, { a: 2 }] } });
    const options = { token, json: { code: ECHO, data: { plan: "enterprise", q: 1 } } };
    const { params, data, url } = await runJson("params?plan=free&b=2", options);
    assert.deepEqual(params, { plan: "pro", seats: [1, { a: 2 }] });
    assert.deepEqual(data, { plan: "pro", seats: [1, { a: 2 }], q: 1, b: "2" });
    assert.doesNotMatch(String(url), /pro/);
  });

  it("include those of the tokens above", async () => {
    const claims = { containers: ["*"], can: ["run", "issue"], depth: 1, params: { plan: "pro" } };
    const head = await service.issue(claims);
    const request = { token: head, json: { containers: ["a"], params: { seat: 7 } } };
    const answer = await service.request("POST", "/api/tokens", request);
    const { token } = answer.json() as { token: string };
    assert.deepEqual((await runJson("a", { token, body: ECHO }))["params"], { seat: 7, plan: "pro" });
    const excess = await service.request("POST", "/api/tokens", {
      token: head,
      json: { containers: ["a"], params: { plan: "enterprise" } },
    });
    assertProblem(excess, 403, "token_forbidden");
  });
});
