import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";

import { type CodeServer, serveCode } from "./code-server.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord } from "./record.ts";
import { type Service, startService } from "./service.ts";

const COUNTS = "globalThis.turn = (globalThis.turn ?? 0) + 1";

let service: Service;
let server: CodeServer;

before(async () => {
  server = await serveCode((request, response) => response.end(decodeURIComponent(request.url!.slice(1))));
  service = await startService(["--egress-allow", server.address, "--token-containers", "100"]);
});
after(async () => {
  await service.stop();
  await server.close();
});

/** Issues a token that runs only this code, in any container. */
function pinnedTo(code: string, claims: object = {}): Promise<string> {
  const sha256 = createHash("sha256").update(code).digest("hex");
  return service.issue({ containers: ["*"], code: { sha256 }, ...claims });
}

async function textOf(container: string, code: string, token: string): Promise<string> {
  return (await service.run(container, code, { token })).text;
}

describe("runs that share a guest", () => {
  it("are all runs of free code in a container: a run finds what another left", async () => {
    const [alice, bob] = [await service.issue({ containers: ["*"] }), await service.issue({ containers: ["all*"] })];
    assert.equal(await textOf("all", COUNTS, alice), "1");
    assert.equal(await textOf("all", COUNTS, bob), "2");
    assert.equal(await textOf("all", COUNTS, service.admin), "3");
  });

  it("of a token with pinned code are only the runs of that token", async () => {
    const free = await service.issue({ containers: ["*"] });
    const [mine, other] = [await pinnedTo(COUNTS), await pinnedTo(COUNTS)];
    assert.equal(await textOf("pinned", COUNTS, free), "1");
    assert.equal(await textOf("pinned", COUNTS, mine), "1");
    assert.equal(await textOf("pinned", COUNTS, mine), "2");
    assert.equal(await textOf("pinned", COUNTS, other), "1");
    assert.equal(await textOf("pinned", COUNTS, free), "2");
  });

  it("have the same network access: a token with another net claim gets another guest", async () => {
    const tokens = await Promise.all(
      [{}, { net: false }, { net: ["b.example", "a.example"] }, { net: ["A.example.", "b.example"] }].map((net) =>
        service.issue({ containers: ["*"], ...net }),
      ),
    );
    const turns: string[] = [];
    for (const token of tokens) turns.push(await textOf("reach", COUNTS, token));
    assert.deepEqual(turns, ["1", "1", "1", "2"]);
  });

  it("do not exist for a token with fresh: true: no run finds data of another, not even of the same token", async () => {
    const leaves = `const fs = require("node:fs");
      const found = [globalThis.left ?? null, fs.readdirSync("/tmp").length, process.env.LEFT ?? null];
      globalThis.left = 1; fs.writeFileSync("/tmp/left", "1"); process.env.LEFT = "1";
      return found`;
    const nothing = "[null,0,null]";
    const [free, fresh] = [
      await service.issue({ containers: ["*"] }),
      await service.issue({ containers: ["*"], fresh: true }),
    ];
    assert.equal(await textOf("fresh", leaves, free), nothing);
    for (let turn = 0; turn < 4; turn++) {
      const answer = await service.run("fresh", leaves, { token: fresh });
      assert.equal(answer.text, nothing);
      assert.match(answer.headers["server-timing"]!, /desc="(?:new|cold)"/);
    }
    assert.equal(await textOf("fresh", leaves, free), '[1,1,"1"]');
    const pinned = await pinnedTo(leaves, { fresh: true });
    for (let turn = 0; turn < 2; turn++) assert.equal(await textOf("fresh", leaves, pinned), nothing);
  });

  it("are distinguished also while all of them are in flight at once", async () => {
    const waits = "(c) => new Promise((end) => setTimeout(end, 100, (globalThis.turn = (globalThis.turn ?? 0) + 1)))";
    const fresh = await service.issue({ containers: ["*"], fresh: true });
    const pinned = await pinnedTo(waits);
    const turns = await Promise.all([fresh, fresh, fresh, pinned].map((token) => textOf("at-once", waits, token)));
    assert.deepEqual(turns, ["1", "1", "1", "1"]);
  });
});

describe("a tenant that poisons what all code of its guest uses", () => {
  const poisons = {
    "Object.prototype":
      "Object.prototype.poison = 'p'; Object.defineProperty(Object.prototype, 'code', { get() { return 'p' }, set() {} })",
    "JSON.stringify": "JSON.stringify = () => '\"p\"'; JSON.parse = () => ({ p: 1 })",
    fetch: "globalThis.fetch = globalThis.Response = globalThis.Request = class { constructor() { return { p: 1 } } }",
    "process.on":
      "process.on = process.once = process.emit = () => { throw 'p' }; process.exit = process.reallyExit = () => 'p'",
    iterators: "Array.prototype[Symbol.iterator] = function* () { yield 'p' }; Map.prototype.get = () => 'p'",
    promises: "Promise.prototype.then = Promise.prototype.catch = function () { return 'p' }",
    timers: "globalThis.setTimeout = globalThis.queueMicrotask = globalThis.setImmediate = () => 'p'",
    Buffer: "Buffer.from = Buffer.alloc = Buffer.concat = () => 'p'; Buffer.prototype.toString = () => 'p'",
    "the module loader": "require('node:module').prototype.require = () => 'p'; require.cache = { p: 1 }",
  };
  const victim = `import { createHash } from "node:crypto";
    export default async (context) => {
      await new Promise((end) => setTimeout(end, 1));
      const clean = !("poison" in {}) && [...[1, 2]].length === 2 && new Map([[1, 2]]).get(1) === 2;
      const same = JSON.parse(JSON.stringify({ a: [context.query.q] }));
      return { clean, same, of: createHash("sha1").update(Buffer.from("x")).digest("hex").length,
        told: typeof process.on("x", () => {}), status: new Response("", { status: 201 }).status };
    }`;
  const right = { clean: true, same: { a: ["1"] }, of: 40, told: "object", status: 201 };

  for (const [what, poison] of Object.entries(poisons)) {
    it(`does not affect another isolation group: ${what}`, async () => {
      const [tenant, neighbour, pinned] = [
        await service.issue({ containers: ["*"] }),
        await service.issue({ containers: ["*"] }),
        await pinnedTo(victim),
      ];
      const container = `poisoned-${what.replaceAll(/\W/g, "-")}`;
      // The answer to this run does not matter.
      await service.run(container, `${poison}; return 1`, { token: tenant });
      const query = { q: "1" };
      assert.deepEqual((await service.run(container, victim, { token: pinned, query })).json(), right);
      assert.deepEqual((await service.run(`${container}-2`, victim, { token: neighbour, query })).json(), right);
    });
  }
});

describe("a token with pinned code", () => {
  it("runs that code, byte for byte, however it is supplied", async () => {
    const code = "\uFEFF#!/usr/bin/node\n6 * 7 // é";
    const token = await pinnedTo(code);
    assert.equal(await textOf("exact", code, token), "42");
    assert.equal((await service.run("exact", "", { token, json: { code, data: 1 } })).text, "42");
    const query = { task_url: `${server.url}/${encodeURIComponent(code)}` };
    assert.equal((await service.request("GET", "/api/run/exact", { token, query })).text, "42");
  });

  it("runs no other code, and a run that is rejected before is not counted", async () => {
    const code = "6 * 7";
    const token = await pinnedTo(code, { limits: { container: { day: 9 } } });
    for (const other of [`${code} `, "\uFEFF6 * 7", "6*7"]) {
      assertProblem(await service.run("strict", other, { token }), 400, "code_pinned");
    }
    for (const json of [{ code: "1" }, { code, modules: {} }, { code, modules: { "./a.js": "1" } }]) {
      assertProblem(await service.request("POST", "/api/run/strict", { token, json }), 400, "code_pinned");
    }
    assert.deepEqual(await containerRecord(service, "strict", token), limitRecord({ day: 9 }));
    const query = { task_url: `${server.url}/6*7` };
    // The text at a URL is known only after the run was counted.
    assertProblem(await service.request("GET", "/api/run/strict", { token, query }), 400, "code_pinned");
    assert.deepEqual(await containerRecord(service, "strict", token), limitRecord({ day: 8 }));
  });

  it("rejects other code after the body was read, and before a slot is reserved", async () => {
    const token = await pinnedTo("1");
    assertProblem(await service.run("strict", "", { token }), 400, "code_missing");
    assertProblem(await service.run("strict", Uint8Array.of(0xff), { token }), 400, "request_invalid");
    const forbidden = await pinnedTo("1", { containers: ["elsewhere"] });
    assertProblem(await service.run("strict", "2", { token: forbidden }), 403, "token_forbidden");
  });
});
