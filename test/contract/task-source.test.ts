import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer, RequestOptions } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { NO_WALL, type Service, startService } from "./service.ts";

const CODE_LIMIT = 65_536;
let service: Service;
before(async () => {
  service = await startService([...NO_WALL, "--code-limit", "64KiB"]);
});
after(() => service.stop());

function put(name: string, json: unknown, options: RequestOptions = {}): Promise<Answer> {
  return service.request("PUT", `/api/tasks/shop/${name}`, { json, ...options });
}

async function publish(name: string, json: unknown): Promise<Record<string, unknown>> {
  const answer = await put(name, json);
  assert.ok(answer.status < 300, answer.text);
  return answer.json() as Record<string, unknown>;
}

/** Puts a source as it is. */
function send(
  name: string,
  type: string,
  body: string | Uint8Array,
  query: Record<string, string> = {},
): Promise<Answer> {
  return service.request("PUT", `/api/tasks/shop/${name}`, { body, headers: { "content-type": type }, query });
}

async function read(name: string): Promise<Record<string, unknown>> {
  return (await service.request("GET", `/api/tasks/shop/${name}`)).json() as Record<string, unknown>;
}

async function run(name: string): Promise<string> {
  return (await service.request("GET", `/api/run/shop/${name}`)).text;
}

const MAIN = 'import { twice } from "./lib.ts";\nimport data from "./data.json";\nexport default () => twice(data.n);';
const MODULES = { "./lib.ts": "export const twice = (n: number): number => 2 * n;", "./data.json": '{"n": 21}' };

describe("the modules of a named task", () => {
  it("work as in a run, and survive a change of another member", async () => {
    await publish("modules", { code: MAIN, modules: MODULES });
    assert.equal(await run("modules"), "42");
    assert.deepEqual((await service.run("shop", "", { json: { code: MAIN, modules: MODULES } })).text, "42");
    await publish("modules", { params: { a: 1 } });
    assert.equal(await run("modules"), "42");
    assert.partialDeepStrictEqual(await read("modules"), { code: MAIN, modules: MODULES, typescript: false });
    await publish("modules", { code: `${MAIN}\n// again` });
    assert.equal(await run("modules"), "42", "other code keeps them");
    await publish("modules", { modules: { ...MODULES, "./data.json": '{"n": 4}' } });
    assert.equal(await run("modules"), "8", "other modules keep the code");
  });

  it("can be loaded with require too", async () => {
    await publish("required", { code: 'const { n } = require("./data.json"); return n', modules: MODULES });
    assert.equal(await run("required"), "21");
  });

  it("are a part of the version that a rollback restores", async () => {
    const { version } = await publish("versions", { code: MAIN, modules: MODULES });
    await publish("versions", { code: "1", modules: null });
    assert.deepEqual([await run("versions"), (await read("versions"))["modules"]], ["1", null]);
    const json = { version };
    const back = await service.request("POST", "/api/tasks/shop/versions/rollback", { json });
    assert.equal(back.status, 200, back.text);
    assert.equal(await run("versions"), "42");
  });

  it("are parsed with the code when the task is put", async () => {
    const broken = await put("broken", { code: MAIN, modules: { ...MODULES, "./lib.ts": "export const = 1" } });
    assert.match(assertProblem(broken, 400, "code_syntax").detail, /lib\.ts/);
    const required = { code: 'return require("./lib.js")', modules: { "./lib.js": "exports.a = ;" } };
    assert.match(assertProblem(await put("broken", required), 400, "code_syntax").detail, /lib\.js/);
  });

  it("run once without being published", async () => {
    const answer = await put("draft", { code: MAIN, modules: MODULES }, { query: { dryRun: "true" } });
    assert.equal((answer.json() as { record: { result: unknown } }).record.result, 42);
  });

  it("decide about the secrets as the code does", async () => {
    const code = 'import "./lib.js"; export default (c) => c.secrets.KEY ?? null';
    await publish("secret", { code, modules: { "./lib.js": "1" }, secrets: { KEY: "abcdefgh" } });
    assert.equal(await run("secret"), '"abcdefgh"');
    await publish("secret", { modules: { "./lib.js": "2" } });
    assert.equal(await run("secret"), "null");
  });

  it("are rejected if they are invalid, too large or without code", async () => {
    const faulty: [unknown, RegExp][] = [
      [{ code: "1", modules: { "lib.ts": "1" } }, /modules\S* is not a relative specifier/],
      [{ code: "1", modules: { "./a.ts": 1 } }, /must be the text of a module/],
      [{ code: "1", modules: [] }, /must be an object/],
      [{ code: "1", modules: { "./a.js": "x".repeat(CODE_LIMIT) } }, /modules have 65537 bytes with the code/],
      [{ url: "https://example.com/", modules: { "./a.js": "1" } }, /modules belong to code/],
      [
        { code: "1", modules: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`./${at}.js`, "1"])) },
        /more than 100/,
      ],
    ];
    for (const [json, says] of faulty) {
      assert.match(JSON.stringify(assertProblem(await put("faulty", json), 400, "request_invalid")), says);
    }
    assert.equal((await service.request("GET", "/api/tasks/shop/faulty")).status, 404);
  });
});

describe("a source as the body", () => {
  it("is the code of the task, with the other members in the query", async () => {
    const source = '// "quotes" and \\ need no escapes\nexport default (context) => `${context.params.plan}`;\n';
    const query = { public: "true", timeout: "5s", params: '{"plan":"pro"}', errors: "shown", expiresIn: "1h" };
    const made = await send("source", "text/javascript; charset=utf-8", source, query);
    assert.equal(made.status, 201, made.text);
    assert.partialDeepStrictEqual(made.json(), {
      public: true,
      timeout: "5s",
      errors: "shown",
      params: { plan: "pro" },
    });
    assert.equal((await read("source"))["code"], source);
    assert.equal(await run("source"), '"pro"');
    assert.equal((await send("source", "application/javascript", "() => 2")).status, 200);
    assert.deepEqual([await run("source"), (await read("source"))["public"]], ["2", true]);
  });

  it("can be TypeScript", async () => {
    // As JavaScript, this is two comparisons.
    const source = "const [f, Id, x] = [(n) => n, 1, 3]; return f<Id>(x)";
    assert.equal((await send("typed", "application/typescript", source)).status, 201);
    assert.deepEqual([await run("typed"), (await read("typed"))["typescript"]], ["3", true]);
  });

  it("can be run once without being published", async () => {
    const answer = await send("once", "application/javascript", "return 6 * 7", { dryRun: "true" });
    assert.equal((answer.json() as { record: { result: unknown } }).record.result, 42);
    assert.equal((await service.request("GET", "/api/tasks/shop/once")).status, 404);
  });

  it("is rejected with what to do", async () => {
    const faulty: [Promise<Answer>, string, RegExp][] = [
      [
        send("bad", "text/javascript", "1", { secrets: '{"A":"b"}' }),
        "request_invalid",
        /secrets cannot be in the query/,
      ],
      [
        send("bad", "text/javascript", "1", { code: "2" }),
        "request_invalid",
        /code (?:is not a parameter|cannot be in the query)/,
      ],
      [send("bad", "text/javascript", "1", { detial: "true" }), "request_invalid", /detial is not a parameter/],
      [send("bad", "text/javascript", "1", { params: '{"a":1,"a":2}' }), "request_invalid", /twice|more than once/],
      [send("bad", "text/javascript", "1", { public: "yes" }), "request_invalid", /public must be true or false/],
      [send("bad", "text/javascript", "return 1 +"), "code_syntax", /Unexpected/],
      [send("bad", "text/javascript", " "), "request_invalid", /code is blank/],
      [send("bad", "text/javascript", Buffer.from([0x31, 0xff])), "request_invalid", /UTF-8/],
      [send("bad", "text/javascript", "x".repeat(CODE_LIMIT + 1)), "code_too_large", /65536/],
      [send("bad", "text/plain", "export default () => 1"), "request_invalid", /application\/javascript/],
      [
        service.request("PUT", "/api/tasks/shop/bad?public=true&public=true", {
          body: "1",
          headers: { "content-type": "text/javascript" },
        }),
        "request_invalid",
        /more than once/,
      ],
    ];
    for (const [answer, code, says] of faulty) {
      assert.match(JSON.stringify(assertProblem(await answer, 400, code)), says);
    }
  });
});
