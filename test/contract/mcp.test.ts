import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { request } from "./http.ts";
import { connectMcp, type McpClient, type Protocol, PROTOCOLS } from "./mcp-clients.ts";
import { assertProblem } from "./problem.ts";
import { leave, makeHome, NO_WALL, type Home, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const PAGE = "https://agents.example";
const VERBS = ["run", "limits", "logs", "tasks"];

let home: Home;
let service: Service;
let agent: string;

before(async () => {
  home = await makeHome();
  service = await startService([...NO_WALL, "--mcp-origin", PAGE], home);
  agent = await service.issue({ containers: ["acme"], can: VERBS });
});
after(() => leave(service, home));

function connect(protocol: Protocol, token: string = agent, path = "/mcp/acme"): Promise<McpClient> {
  return connectMcp(protocol, { url: `${service.url}${path}`, token });
}

async function namesOf(client: McpClient): Promise<string[]> {
  return (await client.tools()).map(({ name }) => name);
}

/** Sends a message as a client of 2025 does, without a client. */
function post(message: unknown, headers: Record<string, string> = {}, path = "/mcp/acme"): ReturnType<typeof request> {
  const accept = "application/json, text/event-stream";
  return request(service.port, "POST", path, { token: agent, json: message, headers: { accept, ...headers } });
}

const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

function callOf(args: object): object {
  return { ...LIST, method: "tools/call", params: { name: "run_code", arguments: args } };
}

/** Returns an object with so many members. */
function many(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, 0]));
}

for (const protocol of PROTOCOLS) {
  describe(`a client of the protocol of ${protocol}`, () => {
    let client: McpClient;
    before(async () => (client = await connect(protocol)));
    after(() => client[Symbol.asyncDispose]());

    it("has the version of its protocol, and instructions that name the container", () => {
      assert.equal(client.protocol, protocol === "2026" ? "2026-07-28" : "2025-11-25");
      assert.match(client.instructions!, /isolated container acme/);
    });

    it("reads the line of its error, corrects it, hits a limit, and reads when to come back", async () => {
      const limits = { token: { hour: 2 } };
      await using limited = await connect(protocol, await service.issue({ containers: ["acme"], limits }));
      const wrong = await limited.call("run_code", {
        code: "const order = {};\norder.lines.map((line) => line.cents)",
      });
      assert.equal(wrong.isError, true);
      assert.match(
        wrong.text,
        /^TypeError: Cannot read properties of undefined \(reading 'map'\) \(task_threw\)\nat task\.js:2:13\n/,
      );
      assert.match(wrong.text, /> 2 \| order\.lines\.map/);
      const right = await limited.call("run_code", {
        code: "const order = { lines: [{ cents: 7 }] };\norder.lines.map((line) => line.cents)",
      });
      assert.deepEqual([right.isError, right.text.split("\n")[0], right.structured["result"]], [false, "[7]", [7]]);
      const refused = await limited.call("run_code", { code: "1" });
      assert.equal(refused.isError, true);
      assert.match(refused.text, /^the token allows 2 runs an hour; the next fits in \d+ s \(token_limited\)\.\n/);
      assert.match(refused.text, /Nothing was run\. Try again in \d+ s \(retryAfterMs \d+\)\./);
      assert.partialDeepStrictEqual(refused.structured, {
        code: "token_limited",
        violations: [{ window: "hour", limit: 2 }],
      });
    });

    it("receives the record of the run, with its console in the text", async () => {
      const code = "console.log('first');\nconsole.error('second\\nhint: forged');\ncontext.body.n * 7";
      const { text, structured, isError } = await client.call("run_code", { code, data: { n: 6 }, timeout: "5s" });
      assert.equal(isError, false);
      assert.match(
        text,
        /^42\n\nconsole \(2 lines\):\ninfo: first\nerror: second\n {2}hint: forged\n\nrun \S+: ok after \d+ ms$/,
      );
      assert.partialDeepStrictEqual(structured, { container: "acme", status: "ok", result: 42, task: null });
      assert.match(String(structured["run"]), /^[0-9a-f]{12}-[0-9a-z]+$/);
      assert.equal((structured["console"] as unknown[]).length, 2);
    });

    it("reads results that have line breaks in their JSON, or characters of two units", async () => {
      const lines = await client.call("run_code", {
        code: 'new Response("[1,\\r\\n\\n2]", { headers: { "content-type": "application/json" } })',
      });
      assert.deepEqual(lines.structured["result"], [1, 2]);
      // In one of these the pieces in which the service writes the record would split a character.
      for (const first of ["", "a"]) {
        const text = first + "\u{1f600}".repeat(60_000);
        const long = await client.call("run_code", { code: `"${first}" + "\u{1f600}".repeat(60_000)` });
        assert.ok(long.structured["result"] === text, "a character was split");
      }
    });

    it("has at most 8 KB of text, with the beginning and the end of what is longer", async () => {
      const code = "for (let n = 0; n < 500; n++) console.log(`line ${n} ü`);\n'<' + 'ü'.repeat(20000) + '>'";
      const { text, structured } = await client.call("run_code", { code });
      assert.ok(Buffer.byteLength(text) <= 8_192, String(Buffer.byteLength(text)));
      assert.match(text, /^<ü+\n… \d+ bytes left out …\nü+>\n\nconsole \(\d+ lines/);
      assert.match(text, /info: line 0 ü\n[^]*line 499 ü\n\nrun /);
      assert.equal((structured["result"] as string).length, 20_002);
      assert.doesNotMatch(text, /\ufffd/);
    });

    it("calls tasks that are tools by their input schema, and reads each fault before a run is counted", async () => {
      const input = {
        type: "object",
        properties: { n: { type: "integer", minimum: 1 }, kind: { enum: ["net", "gross"] } },
        required: ["n"],
        additionalProperties: false,
      };
      const json = { code: "(context) => ({ twice: 2 * context.body.n })", tool: true, description: "Doubles.", input };
      await service.request("PUT", `/api/tasks/acme/double-${protocol}`, { json });
      await service.request("PUT", `/api/tasks/acme/hidden-${protocol}`, { json: { code: "() => 1" } });
      const name = `double-${protocol}`;
      const listed = (await client.tools()).find((tool) => tool.name === name);
      assert.deepEqual([listed?.description, listed?.inputSchema], ["Doubles.", input]);
      assert.ok(!(await namesOf(client)).includes(`hidden-${protocol}`));
      const { text, structured } = await client.call(name, { n: 21 });
      assert.deepEqual([text.split("\n")[0], structured["task"], structured["version"]], ['{"twice":42}', name, 1]);
      const used = await usedBy(agent);
      const wrong = await client.call(name, { n: "21", kind: "other", more: 1 });
      assert.equal(wrong.isError, true);
      assert.match(wrong.text, /^the arguments do not match the input schema of the tool \(request_invalid\)/);
      for (const fault of [/^- n .*type/m, /^- kind /m, /more/]) assert.match(wrong.text, fault);
      assert.equal(await usedBy(agent), used);
      await assert.rejects(client.call(`hidden-${protocol}`), /there is no tool/);
    });

    it("saves a task, calls it as a tool, lists it, and reads its runs", async () => {
      const name = `saved_${protocol}`;
      const saved = await client.call("save_task", {
        name,
        code: "(context) => context.body.a.b",
        description: "Reads.",
      });
      assert.equal(saved.text, `The task ${name} is created: version 1.`);
      assert.equal(
        (await client.call("save_task", { name, code: "(context) => context.body.a.b" })).structured["change"],
        "none",
      );
      const failed = await client.call(name, {});
      assert.deepEqual([failed.isError, failed.structured["status"]], [true, "threw"]);
      const { text } = await client.call("list_tasks");
      assert.match(text, new RegExp(`^${name}, version 1, a tool: Reads\\.$`, "m"));
      assert.match((await client.call("list_tasks", { name })).text, /\(context\) => context\.body\.a\.b/);
      const runs = await client.call("get_runs", { task: name, status: "threw" });
      assert.match(
        runs.text,
        new RegExp(`^\\S+ ${String(failed.structured["run"])} ${name} threw .*TypeError: .* at task\\.js:1:\\d+$`),
      );
      const one = await client.call("get_runs", { run: failed.structured["run"] });
      assert.match(one.text, /^TypeError: /);
      const missing = await client.call("get_runs", { run: "000000000000-0" });
      assert.deepEqual([missing.isError, missing.structured["code"]], [true, "not_found"]);
      const broken = await client.call("save_task", { name, code: "const = 1" });
      assert.match(broken.text, /code_syntax/);
      const misnamed = await client.call("save_task", { name: "a.b", code: "1" });
      assert.match(misnamed.text, /letters, digits, _ and -/);
      const spaced = await client.call("save_task", { name: "a b", code: "1" });
      assert.match(spaced.text, /name must be 1 to 64 letters, digits, _ and -/);
      assert.doesNotMatch(spaced.text, /128/);
    });

    it("reads what is wrong with its arguments", async () => {
      const calls: [args: Record<string, unknown>, text: RegExp][] = [
        [{}, /code must be the code, as text/],
        [{ code: 1 }, /code must be the code, as text/],
        [{ code: " " }, /the code is blank/],
        [{ code: "1", timeout: "soon" }, /timeout must be a duration/],
        [{ code: "1", wait: true }, /wait is not a known member/],
        [{ code: "```js\n1\n```" }, /begins with a Markdown fence/],
        [{ code: "\ud800" }, /lone surrogate/],
      ];
      for (const [args, text] of calls) {
        const result = await client.call("run_code", args);
        assert.equal(result.isError, true, JSON.stringify(args));
        assert.match(result.text, text);
      }
    });

    it("cancels the run of a call that it cancels", async () => {
      const controller = new AbortController();
      const code = "await new Promise(() => setTimeout(() => {}, 60_000))";
      const calling = client.call("run_code", { code: `'${protocol}'; ${code}` }, controller.signal);
      let run = "";
      await until(async () => {
        const { runs } = (await service.request("GET", "/api/runs/acme?status=running")).json() as {
          runs: { run: string }[];
        };
        run = runs[0]?.run ?? "";
        return run !== "";
      }, "the run is in flight");
      controller.abort();
      await assert.rejects(calling);
      await until(async () => {
        const record = (await service.request("GET", `/api/runs/acme/${run}`)).json() as { status: string };
        return record.status === "cancelled";
      }, "the run is cancelled");
    });

    it("sees the tools that its token permits, and no others", async () => {
      const cases: [claims: object, names: string[]][] = [
        [{ containers: ["empty"] }, ["run_code"]],
        [{ containers: ["empty"], can: ["limits"] }, []],
        [{ containers: ["empty"], can: ["logs"] }, ["get_runs"]],
        [{ containers: ["empty"], can: ["tasks"] }, ["save_task", "list_tasks"]],
        [{ containers: ["empty"], code: { url: "https://example.com/task.js" } }, []],
      ];
      for (const [claims, names] of cases) {
        await using other = await connect(protocol, await service.issue(claims), "/mcp");
        assert.deepEqual(await namesOf(other), names, JSON.stringify(claims));
        const hidden = ["run_code", "save_task", "get_runs"].find((name) => !names.includes(name))!;
        await assert.rejects(other.call(hidden, { code: "1" }), /there is no tool/);
      }
    });

    it("names the container in each call if its token has more than one", async () => {
      await using wide = await connect(protocol, await service.issue({ containers: ["acme", "other-*"] }), "/mcp");
      const [tool] = await wide.tools();
      assert.deepEqual((tool!.inputSchema as { required: string[] }).required, ["container", "code"]);
      assert.equal(
        (await wide.call("run_code", { code: "context.container", container: "other-1" })).text.split("\n")[0],
        "other-1",
      );
      const calls: [container: unknown, text: RegExp][] = [
        [undefined, /container must be the name of a container/],
        ["foreign", /does not permit runs in this container/],
        ["../acme", /is not a valid container name/],
      ];
      for (const [container, text] of calls) {
        const refused = await wide.call("run_code", { code: "1", ...(container !== undefined && { container }) });
        assert.deepEqual([refused.isError, text.test(refused.text)], [true, true], refused.text);
      }
    });
  });
}

async function usedBy(token: string): Promise<unknown> {
  const record = (await service.request("GET", "/api/limits/container/acme?detail=true", { token })).json();
  return (record as { day: { used: number } }).day.used;
}

describe("a task that is a tool", () => {
  it("keeps the rules of public tasks and of secrets", async () => {
    await using client = await connect("2026");
    const secret = {
      code: "(context) => [context.secrets.KEY, context.body]",
      tool: true,
      secrets: { KEY: "s3cret-value" },
    };
    await service.request("PUT", "/api/tasks/acme/secret", { json: secret });
    assert.deepEqual((await client.call("secret", { a: 1 })).structured["result"], ["s3cret-value", { a: 1 }]);
    const leaking = { code: "(context) => { console.log(context.secrets.KEY); throw new Error(context.secrets.KEY) }" };
    await service.request("PUT", "/api/tasks/acme/leak", {
      json: { ...leaking, tool: true, secrets: { KEY: "s3cret-value" } },
    });
    const leaked = await client.call("leak");
    assert.doesNotMatch(JSON.stringify(leaked), /s3cret/);
    const open = { code: "() => { throw new Error('inside') }", tool: true, public: true };
    await service.request("PUT", "/api/tasks/acme/open", { json: open });
    const hidden = await client.call("open");
    assert.match(hidden.text, /the task failed; its owner can read the record/);
    assert.doesNotMatch(JSON.stringify(hidden), /inside/);
  });

  it("receives its input as a fetch handler too, and none of the headers of the message", async () => {
    await using client = await connect("2025");
    const code = `export default { async fetch(request) {
      return Response.json({ input: await request.json(), headers: Object.fromEntries(request.headers) }, { status: 201 });
    } }`;
    await service.request("PUT", "/api/tasks/acme/handler", { json: { code, tool: true, record: "input" } });
    const { text, structured } = await client.call("handler", { a: 1 });
    const result = structured["result"] as { input: unknown; headers: object };
    assert.deepEqual(result.input, { a: 1 });
    assert.deepEqual(Object.keys(result.headers).toSorted(), [
      "content-type",
      ...("user-agent" in result.headers ? ["user-agent"] : []),
    ]);
    assert.match(text, /^\(HTTP status 201\)\n/);
    const record = await service.request("GET", `/api/runs/acme/${String(structured["run"])}`);
    assert.equal((record.json() as { input: string }).input, '{"a":1}');
  });

  it("is listed in pages", async () => {
    const token = await service.issue({ containers: ["many"] });
    for (let n = 0; n < 110; n++) {
      await service.request("PUT", `/api/tasks/many/tool-${n}`, {
        json: { url: "https://example.com/a.js", tool: n % 100 !== 7 },
      });
    }
    await using client = await connect("2026", token, "/mcp");
    const names = await namesOf(client);
    assert.deepEqual([names.length, new Set(names).size, names.includes("tool-7")], [109, 109, false]);
    const first = (await post(LIST, {}, "/mcp/many")).status;
    assert.equal(first, 403, "the other token does not permit this container");
    const invalid = await post({ ...LIST, params: { cursor: "../x" } });
    assert.match(invalid.text, /-32602/);
  });

  it("with slow checks makes no tool of another tenant wait, and is checked only while a window has a run left", async () => {
    const pattern = "^(a+)+$";
    const slow = { type: "object", properties: { a: { type: "string", pattern } } };
    const fast = { type: "object", properties: { n: { type: "number" } } };
    const limits = { token: { month: 1 } };
    const hostile = await service.issue({ containers: ["hostile"], can: ["run", "tasks"], limits });
    for (let at = 0; at < 3; at++) {
      const json = { code: "() => 1", tool: true, input: { ...slow, title: String(at) } };
      await service.request("PUT", `/api/tasks/hostile/slow${at}`, { token: hostile, json });
    }
    await service.request("PUT", "/api/tasks/acme/quick", { json: { code: "() => 1", tool: true, input: fast } });
    await using client = await connect("2026");
    await using attacker = await connect("2026", hostile, "/mcp/hostile");
    await client.call("quick", { n: 1 });
    const order: string[] = [];
    const calling = [0, 1, 2].map(async (at) => {
      const { text } = await attacker.call(`slow${at}`, { a: `${"a".repeat(40)}!` });
      assert.match(text, /took longer than 500 ms/);
      order.push("slow");
    });
    assert.equal((await client.call("quick", { n: 1 })).structured["result"], 1);
    order.push("quick");
    await Promise.all(calling);
    assert.deepEqual(order, ["quick", "slow", "slow", "slow"]);
    assert.equal((await attacker.call("run_code", { code: "1" })).structured["result"], 1);
    assert.match((await attacker.call("slow0", { a: 1 })).text, /token_limited/);
  });

  it("with a schema that takes for ever is refused in time, while other tools are called", async () => {
    await using client = await connect("2026");
    const input = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
    await service.request("PUT", "/api/tasks/acme/slow", { json: { code: "() => 1", tool: true, input } });
    const calling = client.call("slow", { a: `${"a".repeat(40)}!` });
    const meanwhile = await client.call("run_code", { code: "6 * 7" });
    assert.equal(meanwhile.text.split("\n")[0], "42");
    for (const slow of [await calling, await client.call("slow", { a: "a" })]) {
      assert.deepEqual([slow.isError, /took longer than/.test(slow.text)], [true, true], slow.text);
    }
    const loop = { type: "object", $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } };
    await service.request("PUT", "/api/tasks/acme/loop", { json: { code: "() => 1", tool: true, input: loop } });
    assert.match((await client.call("loop")).text, /cannot be checked/);
    const ok = { type: "object", properties: { a: { $ref: "#/properties/b" }, b: { type: "string" } } };
    await service.request("PUT", "/api/tasks/acme/fine", { json: { code: "(c) => c.body.a", tool: true, input: ok } });
    assert.equal((await client.call("fine", { a: "x" })).structured["result"], "x");
  });
});

describe("the MCP endpoint", () => {
  it("answers 401 with a challenge if the token is missing or invalid, also if it is in the query", async () => {
    const cases: [token: string | null, path: string, code: string, challenge: RegExp][] = [
      [null, "/mcp", "token_missing", /^Bearer realm="caisson"$/],
      [null, `/mcp/acme?key=${agent}`, "token_missing", /^Bearer realm="caisson"$/],
      ["x", "/mcp/acme", "token_invalid", /^Bearer realm="caisson", error="invalid_token"$/],
    ];
    for (const [token, path, code, challenge] of cases) {
      const answer = await request(service.port, "POST", path, { token, json: LIST });
      assertProblem(answer, 401, code);
      assert.match(answer.headers["www-authenticate"]!, challenge);
    }
    await assert.rejects(connectMcp("2026", { url: `${service.url}/mcp`, token: null }));
    await assert.rejects(connectMcp("2025", { url: `${service.url}/mcp`, token: "x" }), /401|token/);
  });

  it("answers 403 to a token that does not permit the container, without telling whether it exists", async () => {
    const token = await service.issue({ containers: ["other"] });
    for (const container of ["acme", "absent"]) {
      const answer = await request(service.port, "POST", `/mcp/${container}`, { token, json: LIST });
      assertProblem(answer, 403, "token_forbidden");
    }
    assertProblem(await request(service.port, "POST", "/mcp/%2e%2e", { token, json: LIST }), 400, "container_invalid");
  });

  it("accepts only pages of its address and of --mcp-origin", async () => {
    const own = service.url;
    const { host } = new URL(own);
    const cases: [origin: string, host: string, status: number][] = [
      [own, host, 200],
      [PAGE, host, 200],
      [`http://localhost:${service.port}`, `localhost:${service.port}`, 200],
      ["https://evil.example", host, 403],
      ["null", host, 403],
      [`${PAGE}, ${PAGE}`, host, 403],
      // A page whose name resolves to this service: DNS rebinding.
      [`http://evil.example:${service.port}`, `evil.example:${service.port}`, 403],
    ];
    for (const [origin, addressed, status] of cases) {
      const answer = await post(LIST, { origin, host: addressed });
      assert.equal(answer.status, status, origin);
      assert.equal(answer.headers["access-control-allow-origin"], status === 200 ? origin : undefined);
      const preflight = await request(service.port, "OPTIONS", "/mcp/acme", { headers: { origin, host: addressed } });
      assert.equal(preflight.status, status === 200 ? 204 : 403, origin);
      assert.equal(
        /mcp-protocol-version/i.test(preflight.headers["access-control-allow-headers"] ?? ""),
        status === 200,
      );
    }
  });

  it("answers every other method with 405, and what is no message with an error of the protocol", async () => {
    for (const method of ["GET", "DELETE", "PUT"]) {
      const answer = await request(service.port, method, "/mcp/acme", { token: agent });
      assertProblem(answer, 405, "method_not_allowed");
      assert.equal(answer.headers["allow"], "POST, OPTIONS");
    }
    const bodies: [body: string, code: number][] = [
      ["{", -32_700],
      ["", -32_700],
      ['{"a":1,"a":2}', -32_700],
      [JSON.stringify([LIST, LIST]), -32_600],
      ["42", -32_600],
      ['{"code":"1"}', -32_600],
    ];
    for (const [body, code] of bodies) {
      const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
      const answer = await request(service.port, "POST", "/mcp/acme", { token: agent, body, headers });
      assert.equal(answer.status, 400, body);
      assert.ok([code, -32_700].includes((answer.json() as { error: { code: number } }).error.code), answer.text);
      if (body === "{") assert.match(answer.text, /POST \/api\/run\/\{container\}/);
      if (body.includes("code")) assert.match(answer.text, /"method.*tools\/list.*POST \/api\/run\/\{container\}/);
    }
    const unknown = await post({ ...LIST, method: "tools/call", params: { name: "run", arguments: {} } });
    assert.match(
      unknown.text,
      /there is no tool .*the tools of the service are run_code, save_task, list_tasks, get_runs/,
    );
  });

  it("names the tool that a wrong name means, and the verb that the token lacks", async () => {
    const json = { code: "() => 1", tool: true };
    await service.request("PUT", "/api/tasks/near/send-invoice", { json });
    await service.request("PUT", "/api/tasks/near/charge-card", { json: { ...json, tool: false } });
    const token = await service.issue({ containers: ["near"], can: ["run"] });
    const said = async (name: string): Promise<string> => {
      const params = { name, arguments: {} };
      const headers = { accept: "application/json, text/event-stream" };
      const message = { ...LIST, method: "tools/call", params };
      return (await request(service.port, "POST", "/mcp/near", { token, json: message, headers })).text;
    };
    assert.match(await said("send_invoice"), /there is no tool .*; did you mean send-invoice\?; the tools of/);
    assert.match(await said("runCode"), /there is no tool .*; did you mean run_code\?; the tools of/);
    assert.match(
      await said("save_task"),
      /there is no tool .*: save_task needs a token with the verb tasks; the tools/,
    );
    // A task that is no tool is not revealed.
    assert.doesNotMatch(await said("charge_card"), /charge-card/);
  });

  it("names what to send instead of a message that no client sends", async () => {
    const call = (params: unknown): object => ({ ...LIST, method: "tools/call", params });
    const rows: readonly (readonly [message: object, said: RegExp])[] = [
      [
        { ...LIST, method: "tools/lst" },
        /there is no method .*tools\/lst.*; the methods are initialize, ping, tools\/list/,
      ],
      [{ ...LIST, method: "run_code", params: { code: "1" } }, /run_code is a tool: call it by tools\/call/],
      [call(undefined), /params must be like .*run_code.*:\{\\"code\\":\\"1\\"\}\}/],
      [{ ...LIST, method: "initialize" }, /params must be like .*protocolVersion/],
      [call({ tool: "run_code", arguments: {} }), /name is the name of a tool, as text/],
      [call({ name: "run_code", arguments: '{"code":"1"}' }), /arguments must be an object, and no text of JSON/],
      [call({ name: "run_code", args: { code: "1" } }), /write arguments instead of args/],
      [call({ name: "run_code", code: "1" }), /params must be like .*: put code into arguments/],
      [call({ name: "get_runs", arguments: { limit: 500 } }), /limit must be a whole number from 1 to 50/],
      [call({ name: "get_runs", arguments: { status: "failed" } }), /The status failed is a fault of the service/],
      [call({ name: "run_code", arguments: {} }), /the arguments of run_code have a fault: code must be/],
    ];
    for (const [message, said] of rows) {
      const { status, text } = await post(message);
      assert.equal(status, 200);
      assert.match(text, said);
    }
    const general = await service.request("POST", "/mcp", {
      json: call(undefined),
      headers: { Accept: "application/json, text/event-stream" },
    });
    assert.match(general.text, /params must be like .*:\{\\"container\\":\\"demo\\",\\"code\\":\\"1\\"\}\}/);
    assert.match(
      (await post(LIST, { accept: "*/*" })).text,
      /send the header Accept: application\/json, text\/event-stream/,
    );
    const plain = await post(LIST, { "Content-Type": "text/plain" });
    assert.deepEqual([plain.status, /Content-Type: application\/json/.test(plain.text)], [415, true]);
  });

  it("reads code up to the limit, and no message with more data than it can walk at once", async () => {
    const long = await post(callOf({ code: `"${"é".repeat(400_000)}".length` }));
    assert.match(long.text, /"result":400000/);
    const large = await post(callOf({ code: "1", data: Array.from({ length: 200_000 }, () => ({})) }));
    assert.match(large.text, /bytes in addition to its code/);
    const tooLong = await post(callOf({ code: "1".repeat(2 ** 20 + 1) }));
    assert.match(tooLong.text, /code_too_large/);
    const deep = await post(callOf({ code: "1", data: JSON.parse("[".repeat(70) + "]".repeat(70)) as unknown }));
    assert.match(deep.text, /levels/);
  });

  it("bounds what the protocol checks before a limit is asked, and ignores answers to what it did not ask", async () => {
    const { text: own } = await post({ ...LIST, params: { _meta: many(129) } });
    assert.match(own, /an object of the message has more than 128 members/);
    const { text: long } = await post({ ...LIST, params: { _meta: { a: "a".repeat(65_536) } } });
    assert.match(long, /more than 65536 bytes in addition to the arguments of its tool/);
    const { text: names } = await post(callOf(many(1_001)));
    assert.match(names, /the tool has more than 1000 arguments/);
    const { text: given } = await post(callOf({ code: "1", data: many(10_000) }));
    assert.match(given, /the arguments have more than 10000 members/);
    const { text: most } = await post(callOf({ code: "Object.keys(context.body).length", data: many(9_998) }));
    assert.match(most, /"result":9998/);
    for (const member of ["result", "error"]) {
      assert.equal((await post({ jsonrpc: "2.0", id: 1, [member]: {} })).status, 202);
    }
  });

  it("keeps no subscription, and lets a session cancel only its own calls", async () => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const listen = {
      jsonrpc: "2.0",
      id: 1,
      method: "subscriptions/listen",
      params: { notifications: { toolsListChanged: true }, _meta: meta },
    };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
    const answer = await post(listen, headers);
    assert.match(answer.text, /"error"/);
    const code = "await new Promise((resolve) => setTimeout(resolve, 50)); 7";
    const call = { ...LIST, id: 9, method: "tools/call", params: { name: "run_code", arguments: { code } } };
    const running = post(call, { "mcp-session-id": "mine" });
    const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 9 } };
    assert.equal((await post(cancel, { "mcp-session-id": "other" })).status, 202);
    assert.equal((await post(cancel)).status, 202);
    assert.match((await running).text, /"result":7/);
  });
});
