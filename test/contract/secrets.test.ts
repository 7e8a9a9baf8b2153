import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { isLong } from "../long.ts";
import { type CodeServer, serveCode } from "./code-server.ts";
import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { type Home, leave, makeHome, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** A value that is in no other text. */
const SECRET = "hunter2-8d1f0a6c";
/** The guests are new in the first round and poisoned in the second. */
const ROUNDS = isLong ? 10 : 2;
const DIGEST = createHash("sha256").update(SECRET).digest("hex");

let home: Home;
let server: CodeServer;
let service: Service;
const texts = new Map<string, string>();

before(async () => {
  server = await serveCode((request, response) => response.end(texts.get(request.url!)));
  home = await makeHome();
  service = await start();
});
after(async () => {
  await leave(service, home);
  await server.close();
});

function start(): Promise<Service> {
  const flags = ["--egress-allow", server.address, "--token-containers", "100", "--log-level", "debug"];
  // Reading a whole heap takes long on a busy machine.
  flags.push("--block-limit", "60s", "--wall-limit", "120s");
  return startService(flags, home);
}

/** Issues a token that runs what the server returns for that path, with these secrets. */
async function pinned(name: string, text: string, claims: object = {}): Promise<{ token: string; jti: string }> {
  texts.set(`/${name}`, text);
  const members = { containers: ["*"], code: { url: `${server.url}/${name}` }, secrets: { KEY: SECRET }, ...claims };
  const answer = await service.request("POST", "/api/tokens", { json: members });
  assert.equal(answer.status, 201, answer.text);
  return answer.json() as { token: string; jti: string };
}

function ask(container: string, token: string, options: object = {}): Promise<Answer> {
  return service.request("POST", `/api/run/${container}`, { token, ...options });
}

function put(jti: string, json: unknown, token: string = service.admin): Promise<Answer> {
  return service.request("PUT", `/api/tokens/${jti}/secrets`, { json, token });
}

describe("the secrets of a token", () => {
  it("reach the code that the token is pinned to, in every form that has a context", async () => {
    const codes = {
      function: "(context) => context.secrets",
      callback: "module.exports = function (context, cb) { cb(null, context.secrets) }",
      node: "module.exports = (context, req, res) => res.end(JSON.stringify(context.secrets))",
      fetch: "export default { fetch: (request, env) => Response.json({ KEY: env.KEY, B: env.B, plan: env.plan }) }",
    };
    for (const [name, code] of Object.entries(codes)) {
      const { token } = await pinned(name, code, { secrets: { KEY: SECRET, B: "2" }, params: { plan: "pro" } });
      const plan = name === "fetch" ? { plan: "pro" } : {};
      assert.deepEqual((await ask("shapes", token)).json(), { KEY: SECRET, B: "2", ...plan }, name);
    }
  });

  it("are separate from data, and override neither a param nor data", async () => {
    const { token } = await pinned("beside", "(c) => [c.secrets, c.params, c.data, Object.keys(c)]", {
      params: { KEY: "readable" },
    });
    const [secrets, params, data] = (await ask("beside", token, { json: { KEY: "mine" } })).json() as object[];
    assert.deepEqual([secrets, params, data], [{ KEY: SECRET }, { KEY: "readable" }, { KEY: "readable" }]);
  });

  it("reach supplied code if it is the pinned code", async () => {
    const code = "(context) => context.secrets.KEY";
    const sha256 = createHash("sha256").update(code).digest("hex");
    const { token } = await pinned("supplied", code, { code: { sha256 } });
    assert.equal((await ask("supplied", token, { body: code })).json(), SECRET);
    const other = await ask("supplied", token, { body: "(context) => context.secrets" });
    assertProblem(other, 400, "code_pinned");
  });

  it("are allowed with free code only if secretsReadable is true", async () => {
    const claims = { containers: ["*"], secrets: { KEY: SECRET } };
    const answer = await service.request("POST", "/api/tokens", { json: claims });
    assert.match(assertProblem(answer, 400, "request_invalid").detail, /secretsReadable: true/);
    const readable = await service.issue({ ...claims, secretsReadable: true });
    const free = await service.issue({ containers: ["*"] });
    const code = "(context) => context.secrets.KEY ?? null";
    assert.equal((await ask("readable", readable, { body: code })).json(), SECRET);
    assert.equal((await ask("readable", free, { body: code })).json(), null);
  });

  it("are in no log, neither in the last output of a guest nor in the name of a host", async () => {
    const secret = "CANARY-Last-Words-5f3a";
    const code = `(c) => {
      if (c.query.how === "host") return fetch("http://" + c.secrets.KEY + ".internal:99/");
      require("node:fs").writeSync(2, "boom " + c.secrets.KEY + "\\n");
      for (const held = []; ; ) held.push(Buffer.alloc(8 << 20, 1));
    }`;
    const { token } = await pinned("last-words", code, { secrets: { KEY: secret } });
    await ask("last-words", token, { query: { how: "host" } });
    // The log has the last line of the guest. The kernel ends a guest with large buffers long before V8 searches for garbage.
    let attempts = 0;
    const hasLastLine = async (): Promise<boolean> => {
      // Each time another container, because a container whose guest has ended gets its next guest after a pause.
      const answer = await ask(`last-words-${attempts++}`, token, { query: { how: "exit" } });
      const run = answer.headers["caisson-run"]!;
      const line = await service.logLine((text) => text.includes(`"${run}"`) && text.includes('"code":"task_'));
      return line.includes("boom [secret]");
    };
    await until(hasLastLine, "the log has the last line of the task", 60_000);
    await service.logLine((line) => line.includes("egress refused") && line.includes("[secret].internal"));
    assert.ok(!service.stderr().toLowerCase().includes(secret.toLowerCase()));
  });

  it("are in no answer and no log in the spellings of programs: inspected, escaped, quoted by V8", async () => {
    const pem = `-----BEGIN PRIVATE KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n".repeat(3)}-----END PRIVATE KEY-----\n`;
    const code = `(c) => {
      const { KEY } = c.secrets;
      const { how } = c.query;
      console.log({ key: KEY });
      console.log(new URLSearchParams({ q: KEY }).toString());
      if (how === "inspect") throw new Error(require("node:util").inspect({ deep: [KEY] }));
      if (how === "json") throw new Error(JSON.stringify(JSON.stringify({ KEY })));
      if (how === "url") throw new Error(new URL("http://x/?q=" + KEY).href);
      JSON.parse('{"a":' + KEY);
    }`;
    const { token } = await pinned("spellings", code, { secrets: { KEY: pem } });
    for (const how of ["inspect", "json", "url", "parse"]) {
      const answer = await ask("spellings", token, { query: { how } });
      assertProblem(answer, 500, "task_threw");
      for (const piece of ["MIIEvQ", "BEGIN", "-----", "ASC"]) assert.ok(!answer.text.includes(piece), answer.text);
    }
    await service.logLine((line) => line.includes("q=[secret]"));
    assert.ok(!service.stderr().includes("MIIEvQ"));
  });

  it("are not in the hint of a result that has one as the name of a member", async () => {
    const name = "zq9secretvalue7x";
    const { token } = await pinned("named", "({ secrets }) => ({ [secrets.KEY]: NaN })", { secrets: { KEY: name } });
    const answer = await ask("named", token);
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.headers["caisson-hint"] ?? "", /^result\.\[secret\] is NaN/);
    const record = await service.request("GET", `/api/runs/named/${answer.headers["caisson-run"]}`);
    assert.match((record.json() as { hint: string }).hint, /^result\.\[secret\] is NaN/);
    assert.ok(!service.stderr().includes(name));
  });

  it("are in no answer, no listing, no log and no file", async () => {
    const throws = `(c) => {
      console.log("logged", c.secrets.KEY, { deep: c.secrets });
      if (c.query.how === "later") { setTimeout(() => { throw new Error("later " + c.secrets.KEY); }, 5); return 1; }
      if (c.query.how === "connect") return fetch("http://" + c.secrets.KEY + ".example/");
      if (c.query.how === "stream") return new Response(new ReadableStream({ pull() { throw new Error(c.secrets.KEY) } }));
      const error = new Error("failed with " + c.secrets.KEY, { cause: new Error(c.secrets.KEY) });
      error.config = error.own = { key: c.secrets.KEY };
      error[c.secrets.KEY] = 1;
      throw error;
    }`;
    const { token, jti } = await pinned("throws", throws);
    const answers: Answer[] = [];
    for (const how of ["throw", "connect", "stream", "later"])
      answers.push(await ask("throws", token, { query: { how } }));
    assert.match(assertProblem(answers[0]!, 500, "task_threw").detail, /\[secret\]/);
    await service.logLine((line) => line.includes("logged [secret]"));
    await service.logLine((line) => line.includes("later [secret]"));
    const admin = ["/api/tokens", `/api/tokens/${jti}`, "/api/tokens?limit=1000", "/api/containers"];
    for (const target of admin) answers.push(await service.request("GET", target));
    answers.push(await service.request("GET", `/api/tokens/${jti}/secrets`));
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const body = `token=${token}`;
    answers.push(await service.request("POST", "/api/tokens/introspect", { body, headers: form }));
    for (const answer of answers) assert.ok(!answer.text.includes(SECRET), answer.text);
    assert.ok(!Buffer.from(token.split(".")[1]!, "base64url").includes(SECRET));
    assert.ok(!service.stderr().includes(SECRET) && !service.stdout().includes(SECRET));
    for (const name of await readdir(service.data, { recursive: true })) {
      const file = path.join(service.data, name);
      if ((await stat(file)).isFile()) assert.ok(!(await readFile(file)).includes(SECRET), name);
    }
    for (const name of ["secrets.key", "secrets.sqlite"]) {
      assert.equal((await stat(path.join(service.data, name))).mode & 0o777, 0o600);
    }
  });

  it("are not disclosed by a text that is cut in the middle of a secret, in an answer or in the log", async () => {
    const throws = "(c) => { throw new Error('y'.repeat(c.data.pad) + ': ' + c.secrets.KEY) }";
    const { token } = await pinned("cut", throws);
    // Around the maximum of a message, which is 8 KiB.
    for (let pad = 8_170; pad < 8_195; pad += 3) {
      const answer = await ask("cut", token, { json: { pad } });
      assertProblem(answer, 500, "task_threw");
      assert.doesNotMatch(answer.text, /: hun/);
    }
    assert.doesNotMatch(service.stderr(), /: hun/);
  });

  it("are not in the answer to a rejected request", async () => {
    const wrong = [{ KEY: [SECRET] }, [SECRET], { "no name": SECRET }, { KEY: SECRET.repeat(2_000) }, SECRET];
    for (const secrets of wrong) {
      const json = { containers: ["*"], secretsReadable: true, secrets };
      const answer = await service.request("POST", "/api/tokens", { json });
      assertProblem(answer, 400, "request_invalid");
      assert.ok(!answer.text.includes(SECRET));
    }
  });

  it("exist after a restart", async () => {
    const { token } = await pinned("restart", "(context) => context.secrets.KEY");
    await service.stop();
    service = await start();
    assert.equal((await ask("restart", token)).json(), SECRET);
  });
});

describe("PUT /api/tokens/{jti}/secrets", () => {
  const code = "(c) => [c.secrets, globalThis.turn = (globalThis.turn ?? 0) + 1]";
  it("replaces them without a new token, and nothing is left of the old secrets", async () => {
    const { token, jti } = await pinned("put", code);
    assert.deepEqual((await ask("put", token)).json(), [{ KEY: SECRET }, 1]);
    assert.deepEqual((await ask("put", token)).json(), [{ KEY: SECRET }, 2]);
    const answer = await put(jti, { OTHER: "new-value" });
    assert.deepEqual([answer.status, answer.json()], [200, { jti, replaced: true }]);
    assert.deepEqual((await ask("put", token)).json(), [{ OTHER: "new-value" }, 1]);
    await put(jti, {});
    assert.deepEqual((await ask("put", token)).json(), [{}, 1]);
    const line = await service.logLine((text) => text.includes("secrets replaced"));
    assert.ok(line.includes(jti) && !line.includes("new-value"));
  });

  it("is for administrators and the tokens above, not for the token itself or other tokens", async () => {
    const claims = { containers: ["*"], can: ["run", "issue"], depth: 2 };
    const head = await service.issue(claims);
    texts.set("/above", code);
    const members = { containers: ["a"], code: { url: `${server.url}/above` } };
    const issued = await service.request("POST", "/api/tokens", { token: head, json: members });
    const { token, jti } = issued.json() as { token: string; jti: string };
    assert.equal((await put(jti, { KEY: "1" }, head)).status, 200);
    assert.deepEqual((await ask("a", token)).json(), [{ KEY: "1" }, 1]);
    for (const other of [token, await service.issue(claims)]) {
      assertProblem(await put(jti, { KEY: "2" }, other), 403, "token_forbidden");
    }
    assertProblem(await put("7b0d6f4e-3c55-4b61-9a7f-1f4a1c2d3e4f", {}, head), 403, "token_forbidden");
    assertProblem(await put("7b0d6f4e-3c55-4b61-9a7f-1f4a1c2d3e4f", {}), 404, "not_found");
    assert.deepEqual((await ask("a", token)).json(), [{ KEY: "1" }, 2]);
  });

  it("rejects invalid secrets, and secrets that no code could receive", async () => {
    const { jti } = await pinned("wrong", code);
    for (const json of [null, [], { KEY: 1 }, { "a b": "x" }, "text"]) {
      assertProblem(await put(jti, json), 400, "request_invalid");
    }
    const answer = await service.request("POST", "/api/tokens", { json: { containers: ["a"] } });
    const free = (answer.json() as { jti: string }).jti;
    assert.match(
      assertProblem(await put(free, { A: "1" }), 400, "request_invalid").detail,
      /any code that a caller sends/,
    );
    await service.request("DELETE", `/api/tokens/${jti}`);
    assert.match(assertProblem(await put(jti, { A: "1" }), 400, "request_invalid").detail, /was revoked/);
    assertProblem(await service.request("GET", `/api/tokens/${jti}/secrets`), 405, "method_not_allowed");
  });
});

describe("what a token inherits", () => {
  it("cannot be overridden by a secret or a param of that name, neither at the issue nor later", async () => {
    const above = { containers: ["*"], can: ["run", "issue"], depth: 2, secretsReadable: true };
    const head = await service.issue({ ...above, params: { plan: "pro" }, secrets: { KEY: SECRET } });
    const clashes: [string, object][] = [
      ["params.KEY", { params: { KEY: "mine" } }],
      ["secrets.plan", { secrets: { plan: "mine" } }],
      ["secrets.KEY", { secrets: { KEY: "mine" } }],
    ];
    const issue = (members: object): Promise<Answer> => {
      return service.request("POST", "/api/tokens", { token: head, json: { containers: ["a"], ...members } });
    };
    for (const [member, members] of clashes) {
      assert.deepEqual(membersOf(await issue(members)), [member]);
    }
    const issued = await issue({ params: { own: 1, plan: "pro" }, secrets: { OTHER: "1", own: "2" } });
    assert.equal(issued.status, 201, issued.text);
    const { token, jti } = issued.json() as { token: string; jti: string };
    for (const by of [head, service.admin]) {
      assert.deepEqual(membersOf(await put(jti, { KEY: "mine", OTHER: "3" }, by)), ["secrets.KEY"]);
      assert.deepEqual(membersOf(await put(jti, { plan: "mine" }, by)), ["secrets.plan"]);
    }
    const both = assertProblem(await put(jti, { KEY: "mine", OTHER: 3 }, head), 400, "request_invalid");
    assert.deepEqual(
      both.violations!.map((each) => each["member"]),
      ["OTHER", "secrets.KEY"],
    );
    const answer = await ask("a", token, { body: "(c) => c.secrets" });
    assert.deepEqual(answer.json(), { KEY: SECRET, OTHER: "1", own: "2" });
    assert.equal((await put(jti, { OTHER: "3" }, head)).status, 200);
  });
});

/** Returns the members that exceed the inherited ones. */
function membersOf(answer: Answer): unknown[] {
  return assertProblem(answer, 403, "token_forbidden").violations!.map((each) => each["member"]);
}

describe("a second token of the same container that poison every global it can reach", () => {
  /** Uses functions that a poisoned guest would have replaced. Its answer does not contain the secret. */
  const victim = `const { createHash } = require("node:crypto");
    module.exports = async (context) => {
      if (context.query.look) return [globalThis.left ?? null, process.env.LEFT ?? null, require("node:fs").readdirSync("/tmp").length];
      const { KEY } = context.secrets;
      await new Promise((end) => setTimeout(end, 5, KEY));
      const seen = JSON.parse(JSON.stringify({ KEY, list: [...[KEY]].map(String), of: Object.assign({}, { KEY }) }));
      globalThis.left = seen; process.env.LEFT = KEY; require("node:fs").writeFileSync("/tmp/left", KEY);
      return createHash("sha256").update(Buffer.from(seen.KEY)).digest("hex");
    }`;
  /** Replaces every function that can be replaced, and records all strings that they receive and return. */
  const poison = `const loot = (globalThis.loot ??= []);
    const { apply, ownKeys, getOwnPropertyDescriptor: look, defineProperty } = Reflect;
    // Without a function that the poison replaces: otherwise each recorded text would be recorded again, until memory ends.
    const record = (what) => { if (typeof what === "string" && what.length < 1e3 && loot.length < 1e5) loot[loot.length] = what; };
    const seen = new Set([loot]);
    const walk = (owner, depth) => {
      if (owner === null || (typeof owner !== "object" && typeof owner !== "function") || seen.has(owner) || depth > 4) return;
      seen.add(owner);
      for (const key of ownKeys(owner)) {
        let found;
        try { found = look(owner, key); } catch { continue; }
        if (!found || !("value" in found)) continue;
        walk(found.value, depth + 1);
        if (typeof found.value !== "function" || !found.configurable) continue;
        const real = found.value;
        const spy = new Proxy(real, { apply(_, self, words) {
          record(self); for (let at = 0; at < words.length; at++) record(words[at]);
          const result = apply(real, self, words); record(result); return result;
        } });
        try { defineProperty(owner, key, { ...found, value: spy }); } catch {}
      }
    };
    for (const name of require("node:module").builtinModules) try { walk(require(name), 0); } catch {}
    walk(globalThis, 0);
    Object.defineProperty(Object.prototype, "KEY", { set(value) { record(value); }, get() { return "poison"; }, configurable: true });
    JSON.parse('"canary"');
    for (let at = 0; at < loot.length; at++) if (loot[at] === "canary") return "it records";
    return "it records nothing"`;
  /** Searches everything that the attacker can read. */
  const search = `const fs = require("node:fs");
    const found = [globalThis.loot, globalThis.left, process.env, process.title, process.argv].map((each) => require("node:util").inspect(each, { depth: 9 }));
    for (const name of fs.readdirSync("/tmp")) found.push(fs.readFileSync("/tmp/" + name, "latin1"));
    const file = require("node:v8").writeHeapSnapshot("/tmp/heap");
    found.push(fs.readFileSync(file, "latin1"));
    return /hunter2[-]8d1f0a6c/.test(found.join())`;

  it("gets no secret, whether it runs before, between or after, and whatever its answers are", async () => {
    const { token } = await pinned("victim", victim);
    const attacker = await service.issue({ containers: ["*"] });
    const run = (code: string): Promise<Answer> => service.run("shared", code, { token: attacker });
    for (let round = 0; round < ROUNDS; round++) {
      assert.equal((await run(poison)).text, '"it records"');
      assert.equal((await ask("shared", token)).text, JSON.stringify(DIGEST));
      const pending = [ask("shared", token), run(poison), ask("shared", token), run(poison)];
      const answers = await Promise.all(pending);
      for (const at of [0, 2]) assert.equal(answers[at]!.text, JSON.stringify(DIGEST));
      for (const at of [1, 3]) assert.ok(!answers[at]!.text.includes(SECRET));
      // The attacker's tools may be so broken that they find nothing. Then the attacker uses new ones.
      const seen = await run(search);
      assert.ok(seen.text === "false" || seen.status >= 400, seen.text);
    }
    const other = await service.issue({ containers: ["*"], net: false });
    assert.equal((await service.run("shared", search, { token: other })).text, "false");
  });

  it("gets no secret even if it is pinned to the same code, or may have secrets", async () => {
    const { token } = await pinned("victim", victim);
    assert.equal((await ask("same", token)).text, JSON.stringify(DIGEST));
    const same = await pinned("victim", victim, { secrets: { KEY: "of my own" } });
    assert.equal((await ask("same", same.token, { query: { look: "1" } })).text, "[null,null,0]");
    const readable = await service.issue({ containers: ["*"], secretsReadable: true, secrets: { KEY: "of my own" } });
    assert.equal((await service.run("same", search, { token: readable })).text, "false");
    const fresh = await service.issue({ containers: ["*"], fresh: true });
    assert.equal((await service.run("same", search, { token: fresh })).text, "false");
  });
});
