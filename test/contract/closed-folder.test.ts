import assert from "node:assert/strict";
import { chmod, cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it } from "node:test";

import { examineDataFolder } from "../../src/doctor/data-folder.ts";
import { makeHome, NO_WALL, startService } from "./service.ts";

const skip = process.getuid!() === 0 ? false : "only root can start a service that becomes another user";

it("a service that root starts below a folder of root, such as /root, keeps its history", { skip }, async () => {
  const closed = await mkdtemp(path.join(tmpdir(), "caisson-closed-"));
  await chmod(closed, 0o700);
  await using open = await makeHome();
  const home = { ...open, data: path.join(closed, "data"), [Symbol.asyncDispose]: async () => {} };
  let outside: string | undefined;
  try {
    const first = await startService(NO_WALL, home);
    const run = (await first.run("closed", "throw new Error('kept')")).headers["caisson-run"]!;
    outside = /records of runs, usage and audit are in (\/var\/lib\/caisson\/[0-9a-f]{16}),/.exec(first.stderr())?.[1];
    assert.ok(outside, first.stderr());
    await first.issue({ containers: ["closed"] });
    await first.stop();
    const second = await startService(NO_WALL, home);
    try {
      const record = await second.request("GET", `/api/runs/closed/${run}`);
      assert.equal(record.status, 200, record.text);
      const usage = await second.request("GET", "/api/usage?by=container");
      assert.match(usage.text, /"threw":1/);
      const audit = await second.request("GET", "/api/audit");
      assert.match(audit.text, /token issued/);
      const health = await second.request("GET", "/healthz", { token: null });
      assert.equal((health.json() as { records?: object }).records, undefined);
    } finally {
      await second.stop();
    }
  } finally {
    await rm(closed, { recursive: true });
    if (outside) await rm(outside, { recursive: true });
  }
});

it("a service whose program lies in a folder of root does all that it does elsewhere", { skip }, async () => {
  const closed = await mkdtemp(path.join(tmpdir(), "caisson-closed-"));
  await chmod(closed, 0o700);
  const root = path.join(import.meta.dirname, "../..");
  await cp(path.join(root, "dist"), path.join(closed, "dist"), { recursive: true });
  await cp(path.join(root, "package.json"), path.join(closed, "package.json"));
  await symlink(path.join(root, "node_modules"), path.join(closed, "node_modules"));
  await using open = await makeHome();
  const service = await startService(NO_WALL, { ...open, program: path.join(closed, "dist/main.js") });
  try {
    const { state, proof } = await examineDataFolder(service.data, null);
    assert.equal(state, "held", proof);
    const document = await service.request("GET", "/openapi.json", { token: null });
    assert.match(document.text, /^\{"openapi":"3\.1/);
    const body =
      "function kept(value, context) { return value }\n@kept class Answer { value = 42 }\nreturn new Answer().value";
    const headers = { "Content-Type": "application/typescript" };
    assert.equal((await service.request("POST", "/api/run/closed", { body, headers })).text, "42");
    // The second check needs a new thread, because the first one takes too long and ends its thread.
    const slow = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
    const fast = { type: "object", properties: { n: { type: "number" } } };
    for (const [name, input] of Object.entries({ slow, fast }))
      await service.request("PUT", `/api/tasks/closed/${name}`, { json: { code: "() => 42", tool: true, input } });
    const call = async (name: string, input: object): Promise<string> => {
      const params = { name, arguments: input };
      const json = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
      const accepted = { Accept: "application/json, text/event-stream", "Content-Type": "application/json" };
      const sent = { ...accepted, Authorization: `Bearer ${service.admin}` };
      const url = `${service.url}/mcp/closed`;
      return await (await fetch(url, { method: "POST", headers: sent, body: JSON.stringify(json) })).text();
    };
    assert.match(await call("slow", { a: `${"a".repeat(40)}!` }), /took longer than/);
    assert.match(await call("fast", { n: 1 }), /42/);
  } finally {
    await service.stop();
    await rm(closed, { recursive: true });
  }
});
