import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { containerRecord, limitRecord } from "../contract/record.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "../contract/service.ts";
import { command } from "./command.ts";

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  const file = path.join(path.dirname(home.tmp), "caisson.json");
  const settings = { containerLimit: ["minute=60", "day=9"], pool: 1, logLevel: "debug", queryKey: false };
  await writeFile(file, JSON.stringify(settings));
  service = await startService(
    [...NO_WALL, "--config", file, "--container-limit", "minute=5", "--log-level", "error"],
    home,
  );
});
after(() => leave(service, home));

function issue(...args: string[]): ReturnType<typeof command> {
  return command(["token", "issue", "--admin", "--data", home.data, ...args]);
}

describe("serve --config", () => {
  it("reads its settings from the file, unless a flag overrides them", async () => {
    assert.deepEqual(await containerRecord(service, "demo", service.admin), limitRecord({ minute: 5 }));
    assert.equal((await service.request("GET", `/api/run/demo?key=${service.admin}`, { token: null })).status, 403);
    assert.equal((await service.run("demo", "throw new Error('logged at info')")).status, 500);
    assert.equal(service.stderr(), "");
  });
});

describe("token issue --admin", () => {
  it("prints only a token to stdout, which the running service accepts as administrative", async () => {
    const { code, stdout, stderr } = await issue();
    assert.equal(code, 0);
    assert.match(
      stderr,
      /^caisson: the token [\da-f-]{36} permits everything: it is administrative; it expires: never$/m,
    );
    assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const token = stdout.trim();
    assert.equal((await service.run("demo", "6 * 7", { token })).text, "42");
    const reset = await service.request("DELETE", "/api/limits/container/demo", { token });
    assert.equal(reset.status, 200, reset.text);
    const { exp } = claimsOf(token);
    assert.ok(exp === undefined || exp === null);
  });

  it("sets the requested validity of the token", async () => {
    const { stdout } = await issue("--expires", "12h");
    const { iat, exp } = claimsOf(stdout.trim());
    assert.equal(Number(exp) - Number(iat), 12 * 3_600);
  });

  it("reports an invalid validity, and prints no token", async () => {
    for (const expires of ["12", "soon", "0h"]) {
      const { code, stdout, stderr } = await issue("--expires", expires);
      assert.notEqual(code, 0);
      assert.equal(stdout, "");
      assert.match(stderr, /expires/i);
    }
  });

  it("creates no data folder, because a service would not accept a token of new keys", async () => {
    const nowhere = path.join(home.tmp, "none");
    const { code, stdout, stderr } = await command(["token", "issue", "--admin", "--data", nowhere]);
    assert.notEqual(code, 0);
    assert.equal(stdout, "");
    assert.match(stderr, /^caisson: /);
    assert.doesNotMatch(stderr, /\n\s+at /);
  });

  it("reports the missing flag without --admin", async () => {
    const { code, stdout, stderr } = await command(["token", "issue", "--data", home.data]);
    assert.notEqual(code, 0);
    assert.equal(stdout, "");
    assert.match(stderr, /--admin/);
  });
});

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Record<string, unknown>;
}
